// Loaded before the example in each process of the demo: sends every line that the example prints to the demo, with the
// time of a clock that all processes of the machine share.
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export type Report = readonly [line: string, atMs: number];

if (process.send !== undefined) {
  console.log = (line: string) => process.send?.([line, nowMs()] satisfies Report);
  process.on('disconnect', () => process.exit(1)); // the demo has ended, however that happened
  process.channel?.unref(); // the channel alone keeps no process alive
}
