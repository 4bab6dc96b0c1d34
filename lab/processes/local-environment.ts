/**
 * The environment of this process, for a process that it starts. Unless `MONGODB_URI` names another server, that process
 * talks to 127.0.0.1 only, and gets no NODE_EXTRA_CA_CERTS: Node.js 20 reads that file at every start, and the usual file
 * of a system takes a tenth of a second.
 */
export function localEnvironment(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  if ((environment['MONGODB_URI'] ?? '') === '') delete environment['NODE_EXTRA_CA_CERTS'];
  return environment;
}
