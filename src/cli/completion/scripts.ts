// Completion scripts for the shells, printed by `completion`. When the user presses Tab, they pass the typed
// words to `actor-gateway __complete` (shell-response.ts) and offer the lines that it prints.

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

const PROGRAMS = 'actor-gateway gateway-http';

const bash = `# Completion of actor-gateway for bash; works with the bash of macOS (3.2) too.
_actor_gateway() {
  local mode="" value meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r value meaning; do
    if [ -z "$mode" ]; then
      mode=$value
    else
      # Quote names that contain shell syntax.
      printf -v value '%q' "$value"
      COMPREPLY+=("$value")
    fi
  done < <("\${1/#\\~/$HOME}" __complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $mode in
    files)
      if type compopt >/dev/null 2>&1; then compopt -o default
      else local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")); fi ;;
    folders)
      if type compopt >/dev/null 2>&1; then compopt -o dirnames
      else local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "\${COMP_WORDS[COMP_CWORD]}")); fi ;;
  esac
}
complete -F _actor_gateway ${PROGRAMS}
`;

const zsh = `#compdef ${PROGRAMS}
# Completion of actor-gateway for zsh.
_actor_gateway() {
  local mode="" value meaning
  local -a candidates
  while IFS=$'\\t' read -r value meaning; do
    if [[ -z $mode ]]; then
      mode=$value
    else
      candidates+=("\${value//:/\\\\:}\${meaning:+:$meaning}")
    fi
  done < <("\${(Q)words[1]/#\\~/$HOME}" __complete zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  case $mode in
    files) _files ;;
    folders) _files -/ ;;
    words) _describe -V 'word' candidates ;;
  esac
}
if [[ $funcstack[1] == _actor_gateway ]]; then
  _actor_gateway "$@"
else
  compdef _actor_gateway ${PROGRAMS}
fi
`;

const fish = `# Completion of actor-gateway for fish.
function __actor_gateway_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l lines ($program __complete fish -- $words[2..-1] $current 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path $current
        case folders
            __fish_complete_directories $current ''
        case words
            printf '%s\\n' $lines[2..-1]
    end
end
${PROGRAMS.split(' ')
  .map((program) => `complete -c ${program} -f -k -a '(__actor_gateway_complete)'`)
  .join('\n')}
`;

export const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
