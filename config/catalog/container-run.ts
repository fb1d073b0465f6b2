// Recognises the command line of a server that runs in a container: `docker run …` or `podman run …`. The
// server process is then a child of the container engine (Docker, Podman), not of the gateway.

export interface ContainerRun {
  /** Index of the subcommand (`run` or `container`), after the engine's own options. */
  readonly subcommandAt: number;
  /** Number of arguments up to and including `run`. The options of `run` follow. */
  readonly headLength: number;
  /** True with `--name`. */
  readonly hasName: boolean;
  /** True with `--rm`: the engine removes the container when it ends. */
  readonly isRemoved: boolean;
  /** Reason why the gateway cannot talk to the server with these options, and the remedy. */
  readonly fault: string | undefined;
}

/** Returns the options of a `run`; undefined for another command. */
export function containerRunIn(command: string, args: readonly string[]): ContainerRun | undefined {
  if (!/(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/i.test(command)) return undefined;
  const at = args.findIndex((word, n) => !word.startsWith('-') && !isOptionValue(args[n - 1]));
  // The long form is `docker container run`.
  const headLength = args[at] === 'container' ? at + 2 : at + 1;
  if (at === -1 || args[headLength - 1] !== 'run') return undefined;
  const options = runOptions(args.slice(headLength));
  return {
    subcommandAt: at,
    headLength,
    hasName: options.has('name'),
    isRemoved: options.has('rm'),
    fault: faultOf(options),
  };
}

function faultOf(options: ReadonlySet<string>): string | undefined {
  if (options.has('detach')) return 'its option -d detaches it from the gateway: remove -d from `args`';
  if (!options.has('interactive'))
    return 'its container has no stdin: add -i to `args`, directly after "run"';
  if (options.has('tty')) return 'its option -t changes the messages: remove -t from `args`';
  return undefined;
}

/** Options of the engine before `run` that have no value. */
const engineFlags = /^(?:-D|-r|--debug|--remote|--syslog|--tls|--tlsverify|--transient-store)$/;

/** Returns true if the previous word is an option of the engine that has the next word as its value. */
function isOptionValue(previous: string | undefined): boolean {
  return previous?.startsWith('-') === true && !previous.includes('=') && !engineFlags.test(previous);
}

/** Options of `run` without a value, of both engines. */
const runFlags: ReadonlySet<string> = new Set([
  ...['detach', 'interactive', 'tty', 'rm', 'init', 'privileged', 'quiet', 'read-only', 'publish-all'],
  ...['sig-proxy', 'no-healthcheck', 'oom-kill-disable', 'disable-content-trust', 'use-api-socket'],
  ...['env-host', 'http-proxy', 'no-hostname', 'no-hosts', 'passwd', 'read-only-tmpfs', 'replace', 'rmi'],
  ...['rootfs', 'tls-verify', 'unsetenv-all'],
]);
const shortFlags = new Map([
  ['d', 'detach'],
  ['i', 'interactive'],
  ['t', 'tty'],
  ['P', 'publish-all'],
  ['q', 'quiet'],
]);

/** Returns the names of the options before the image, without flags that are switched off (`--rm=false`). */
function runOptions(words: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '--') break;
    if (!word.startsWith('--')) {
      if (shortOptions(word.slice(1), names)) at += 1;
      continue;
    }
    const [name = '', value] = word.slice(2).split('=', 2);
    if (!/^(?:false|0|f)$/i.test(value ?? '')) names.add(name);
    if (value === undefined && !runFlags.has(name)) at += 1;
  }
  return names;
}

/** Adds the flags of a group such as `-it`. Returns true if the next word is the value of its last option. */
function shortOptions(letters: string, names: Set<string>): boolean {
  for (const [at, letter] of [...letters].entries()) {
    const name = shortFlags.get(letter);
    if (name === undefined) return at === letters.length - 1;
    names.add(name);
  }
  return false;
}
