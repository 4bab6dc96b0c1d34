import type { Command, Option } from 'commander';

/** Prints a script that completes commands and options in a shell. */
export function completion(shell: 'bash' | 'zsh', program: Command): number {
  process.stdout.write(shell === 'bash' ? bashScript(program) : zshScript(program));
  return 0;
}

const visible = (options: readonly Option[]): readonly Option[] => options.filter(({ hidden }) => !hidden);

const flagsOf = (command: Command): readonly string[] =>
  visible(command.options).flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined));

const namesOf = (program: Command): readonly string[] => program.commands.map((command) => command.name());

function bashScript(program: Command): string {
  const common = flagsOf(program);
  const cases = program.commands.map(
    (command) => `    ${command.name()}) words="${[...flagsOf(command), ...common].join(' ')}" ;;`,
  );
  return `# Completion for bash: eval "$(leasehold completion bash)"
_leasehold() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --) return ;;
      ${namesOf(program).join(' | ')}) [ -n "$command" ] || command="\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command" in
    "") words="${[...namesOf(program), ...common].join(' ')}" ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _leasehold leasehold
`;
}

function zshScript(program: Command): string {
  const described = (command: Command): string =>
    visible(command.options)
      .flatMap(({ short, long, description }) =>
        [short, long].filter((flag) => flag !== undefined).map((flag) => zshEntry(flag, description)),
      )
      .join(' ');
  const commands = program.commands.map((command) => zshEntry(command.name(), command.description()));
  const cases = program.commands.map(
    (command) => `    ${command.name()}) options=(${described(command)}) ;;`,
  );
  return `#compdef leasehold
# Completion for zsh: save this as _leasehold in a folder of $fpath.
_leasehold() {
  local -a commands options common
  local command="" each
  commands=(${commands.join(' ')})
  common=(${described(program)})
  for each in "\${(@)words[2,CURRENT-1]}"; do
    case "$each" in
      --) _files; return ;;
      ${namesOf(program).join('|')}) [[ -n "$command" ]] || command="$each" ;;
    esac
  done
  case "$command" in
    "") _describe command commands ;;
${cases.join('\n')}
  esac
  options+=($common)
  _describe -o option options
}
_leasehold "$@"
`;
}

const zshEntry = (name: string, description: string): string =>
  `'${`${name}:${description.replaceAll(':', '\\:')}`.replaceAll("'", "'\\''")}'`;
