// Recognises launchers: commands that install a program before they run it, such as npx and uvx. Returns the
// command line that only installs. A command with unknown options is not recognised: the word that names the
// package would be a guess.

import { type OptionNames, type SplitWords, splitWords } from './launcher-options.ts';

export interface Launcher {
  /** Name of the program, such as `npx`. */
  readonly program: string;
  /** Packages or image that it installs. */
  readonly packages: readonly string[];
  /** Arguments that only install. */
  readonly installArgs: readonly string[];
  /** Arguments for a check that succeeds after the installation. */
  readonly checkArgs?: readonly string[];
  /** For npx: the cache, if an option names it. */
  readonly npm?: { readonly cache: string | undefined };
}

/** `subcommand` precedes the arguments. */
type Recognise = (
  args: readonly string[],
  subcommand: readonly string[],
) => Omit<Launcher, 'program'> | undefined;

// Names of the options of each launcher: `switches` without a value, `values` with one.
const npxNames: OptionNames = {
  switches: new Set([
    ...['-y', '--yes', '-q', '--quiet', '-s', '--silent', '-d', '--verbose', '-f', '--force'],
    ...['--prefer-offline', '--prefer-online', '--offline', '--no-install', '--ignore-scripts'],
    ...['--no-audit', '--no-fund', '--no-progress', '--no-update-notifier', '--legacy-peer-deps'],
  ]),
  values: new Set([
    ...['-p', '--package', '-c', '--call', '--registry', '--cache', '--userconfig', '--prefix'],
    ...['--loglevel', '--shell', '--script-shell', '--proxy', '--https-proxy', '--node-options'],
  ]),
};

const uvNames: OptionNames = {
  switches: new Set([
    ...['-q', '--quiet', '-v', '--verbose', '-n', '--no-cache', '-U', '--upgrade', '--offline', '--isolated'],
    ...['--refresh', '--reinstall', '--no-progress', '--no-config', '--native-tls', '--no-index'],
    ...['--no-build', '--no-binary', '--no-sources', '--compile-bytecode', '--no-env-file'],
    ...['--managed-python', '--no-managed-python', '--no-python-downloads'],
  ]),
  values: new Set([
    ...['--from', '--with', '--with-editable', '--with-requirements', '-w', '-p', '--python', '--index'],
    ...['--default-index', '-i', '--index-url', '--extra-index-url', '-f', '--find-links', '--env-file'],
    ...['-c', '--constraints', '--overrides', '--index-strategy', '--keyring-provider', '--resolution'],
    ...['--prerelease', '--exclude-newer', '--link-mode', '--cache-dir', '--directory', '--project'],
    ...['--config-file', '--allow-insecure-host', '-P', '--upgrade-package', '--refresh-package'],
  ]),
};

const pnpmNames: OptionNames = {
  switches: new Set(['-s', '--silent']),
  values: new Set(['--package', '--allow-build', '--reporter', '--registry', '--loglevel']),
};

const bunNames: OptionNames = {
  switches: new Set(['--bun', '--verbose', '--silent']),
  values: new Set(['-p', '--package']),
};

const engineNames: OptionNames = {
  switches: new Set([
    ...['-i', '--interactive', '-t', '--tty', '-d', '--detach', '-P', '--publish-all', '-q', '--quiet'],
    ...['--rm', '--init', '--read-only', '--privileged', '--no-healthcheck', '--sig-proxy'],
  ]),
  values: new Set([
    ...['-e', '--env', '--env-file', '-v', '--volume', '--mount', '--tmpfs', '--name', '-w', '--workdir'],
    ...['-u', '--user', '-p', '--publish', '--network', '--net', '--network-alias', '--platform', '--pull'],
    ...['-m', '--memory', '--memory-swap', '--cpus', '--pids-limit', '--shm-size', '--ulimit', '--gpus'],
    ...['--entrypoint', '-l', '--label', '--add-host', '--dns', '-h', '--hostname', '--cap-add'],
    ...['--cap-drop', '--security-opt', '--device', '--group-add', '--userns', '--ipc', '--pid', '--runtime'],
    ...['--restart', '--log-driver', '--log-opt', '--stop-signal', '--stop-timeout', '--sysctl', '--uts'],
  ]),
};

/** Installs with the same arguments: a special shell starts no program (npx-shell.sh). */
const npx: Recognise = (args, subcommand) => {
  const words = splitWords(args, npxNames);
  // With unknown options, the installation works, but the packages and their folder are unknown.
  const packages = words === undefined ? [] : packagesOf(words, ['-p', '--package']);
  return {
    packages,
    installArgs: [...subcommand, ...args],
    npm: { cache: words?.values.get('--cache')?.at(-1) },
  };
};

/** Runs an empty Python program in place of the package's program. */
const uvx: Recognise = (args, subcommand) => {
  const words = splitWords(args, uvNames);
  const [spec] = words === undefined ? [] : packagesOf(words, ['--from']);
  if (words === undefined || spec === undefined) return undefined;
  const from = words.values.has('--from') ? [] : ['--from', spec];
  return { packages: [spec], installArgs: [...subcommand, ...words.options, ...from, 'python', '-c', ''] };
};

/** Runs Node in place of the package's program. */
const withNode =
  (names: OptionNames): Recognise =>
  (args, subcommand) => {
    const words = splitWords(args, names);
    const packages = words === undefined ? [] : packagesOf(words, ['-p', '--package']);
    if (words === undefined || packages.length === 0) return undefined;
    const isNamed = words.values.has('-p') || words.values.has('--package');
    const named = isNamed ? [] : packages.map((each) => `--package=${each}`);
    return { packages, installArgs: [...subcommand, ...words.options, ...named, 'node', '-e', '0'] };
  };
const pnpmDlx = withNode(pnpmNames);
const bunx = withNode(bunNames);

/** Pulls the image of a container. */
const engine: Recognise = (args) => {
  const words = splitWords(args, engineNames);
  const image = words?.rest[0];
  if (words === undefined || image === undefined || words.values.get('--pull')?.at(-1) === 'never')
    return undefined;
  const platform = words.values.get('--platform')?.map((each) => `--platform=${each}`) ?? [];
  return {
    packages: [image],
    installArgs: ['pull', ...platform, image],
    checkArgs: ['image', 'inspect', '--format', 'installed', image],
  };
};

/** Returns the packages that options name, or the first word after the options. */
function packagesOf({ values, rest }: SplitWords, options: readonly string[]): readonly string[] {
  const named = options.flatMap((option) => values.get(option) ?? []);
  return named.length > 0 ? named : rest.slice(0, 1);
}

const recognisers: Readonly<Record<string, readonly (readonly [subcommand: string[], Recognise])[]>> = {
  npx: [[[], npx]],
  npm: [
    [['exec'], npx],
    [['x'], npx],
  ],
  uvx: [[[], uvx]],
  uv: [[['tool', 'run'], uvx]],
  pnpx: [[[], pnpmDlx]],
  pnpm: [[['dlx'], pnpmDlx]],
  bunx: [[[], bunx]],
  bun: [[['x'], bunx]],
  docker: [[['run'], engine]],
  podman: [[['run'], engine]],
};

/** Returns the launcher in a command line; undefined for unknown programs and options. */
export function launcherOf(program: string, args: readonly string[]): Launcher | undefined {
  if (!Object.hasOwn(recognisers, program)) return undefined;
  for (const [subcommand, recognise] of recognisers[program] ?? []) {
    if (!subcommand.every((word, at) => args[at] === word)) continue;
    const found = recognise(args.slice(subcommand.length), subcommand);
    if (found !== undefined) return { program, ...found };
  }
  return undefined;
}
