// Creates the command line that runs a package from a registry (`npx -y NAME@VERSION`), and instructions for
// kinds of packages that are not supported. Identifiers and versions must match patterns, so that they cannot
// be options or shell syntax.

import type { RegistryPackage } from '../../../actors/mcp/registry/entry.ts';

/** Machine on which the command will run. */
export interface InstallingMachine {
  hasProgram(name: string): boolean;
  hasVariable(name: string): boolean;
}

/** Assumed machine for a search: it has all programs and no variables. */
export const anyMachine: InstallingMachine = { hasProgram: () => true, hasVariable: () => false };

/** Programs that run a kind of package, the default first, and a hint how to install them. */
const runners: Readonly<
  Record<string, { readonly programs: readonly [string, ...string[]]; readonly from: string }>
> = {
  npm: { programs: ['npx'], from: 'it comes with Node.js (https://nodejs.org)' },
  pypi: { programs: ['uvx'], from: 'it comes with uv (https://docs.astral.sh/uv)' },
  oci: { programs: ['docker', 'podman'], from: 'install Docker or Podman' },
};

const identifiers: Readonly<Record<string, RegExp>> = {
  npm: /^(?:@[\w~-][\w.~-]*\/)?[\w~][\w.~-]*$/,
  pypi: /^[A-Za-z0-9][\w.-]*$/,
  oci: /^[A-Za-z0-9][\w.:/@-]*$/,
  nuget: /^[A-Za-z0-9][\w.-]*$/,
  mcpb: /^https:\/\/[\w.:/%~+@-]+$/,
};

const plainVersion = /^[A-Za-z0-9][\w.+!-]*$/;

/** Returns true if identifier and version are valid. */
export function isPackage({ registryType, identifier, version }: RegistryPackage): boolean {
  const pattern = identifiers[registryType] ?? /^[A-Za-z0-9][\w.:/@+-]*$/;
  return pattern.test(identifier) && (version === undefined || plainVersion.test(version));
}

/**
 * Returns the program that runs the package: the program that the entry names, or the default. Prefers
 * installed programs. Returns undefined for unsupported kinds.
 */
export function programFor(
  { registryType, runtimeHint }: RegistryPackage,
  machine: InstallingMachine,
): string | undefined {
  const programs = runners[registryType]?.programs;
  if (programs === undefined) return undefined;
  const [first] = programs;
  const preferred = programs.find((each) => each === runtimeHint) ?? first;
  return machine.hasProgram(preferred)
    ? preferred
    : (programs.find((each) => machine.hasProgram(each)) ?? preferred);
}

/** Returns a hint how to install a program. */
export function installHint(program: string): string | undefined {
  return Object.values(runners).find(({ programs }) => programs.includes(program))?.from;
}

/** Variables with which docker and podman find the container engine. */
const engineVariables = [
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'CONTAINER_HOST',
  'XDG_RUNTIME_DIR',
];

/** Returns the environment variables that the program inherits from the gateway. */
export function inheritedVariables({ registryType }: RegistryPackage, machine: InstallingMachine): string[] {
  return registryType === 'oci' ? engineVariables.filter((name) => machine.hasVariable(name)) : [];
}

/** Returns the steps for a manual installation. */
export function manualInstallText({
  registryType,
  identifier,
  version,
  fileSha256,
}: RegistryPackage): string {
  const packageName = version === undefined ? identifier : `${identifier}@${version}`;
  if (registryType === 'mcpb') {
    const sum = fileSha256 === undefined ? '' : `, check its SHA-256 (${fileSha256})`;
    return `bundles are not supported; download it${sum}, unpack it as a zip file, and add the command in its manifest.json: actor-gateway servers add NAME -- COMMAND`;
  }
  if (registryType === 'nuget')
    return `.NET packages are not supported; with the SDK (10 or newer) run, with arguments after a second --: actor-gateway servers add NAME -- dnx ${packageName} --yes`;
  return 'packages of this kind are not supported; install it by its documentation, and add its command: actor-gateway servers add NAME -- COMMAND';
}

/** Returns the options for the place between program and package. */
export function optionsOf(
  { registryType, identifier }: Pick<RegistryPackage, 'registryType' | 'identifier'>,
  runtime: readonly string[],
): readonly string[] {
  // Some entries also list the package among the options.
  const rest = runtime.filter((word) => word !== identifier && !word.startsWith(`${identifier}@`));
  return registryType === 'oci' && rest[0] === 'run' ? rest.slice(1) : rest;
}

/** Returns the arguments of the program: its options, the package, and the arguments of the package. */
export function commandLine(
  registryPackage: RegistryPackage,
  program: string,
  runtime: readonly string[],
  packageArguments: readonly string[],
  variables: readonly string[],
): string[] {
  const { registryType, identifier, version, registryBaseUrl } = registryPackage;
  const rest = optionsOf(registryPackage, runtime);
  if (registryType === 'npm') {
    const yes = rest.some((word) => word === '-y' || word === '--yes') ? [] : ['-y'];
    const isOtherRegistry =
      registryBaseUrl !== undefined && !/^https:\/\/registry\.npmjs\.org(?:\/|$)/.test(registryBaseUrl);
    const from = isOtherRegistry ? [`--registry=${literal(registryBaseUrl)}`] : [];
    return [
      ...yes,
      ...from,
      ...rest,
      version === undefined ? identifier : `${identifier}@${version}`,
      ...packageArguments,
    ];
  }
  if (registryType === 'pypi')
    return [...rest, version === undefined ? identifier : `${identifier}==${version}`, ...packageArguments];
  const usual = ['-i', '--rm'].filter((option) => !rest.includes(option));
  return [
    'run',
    ...usual,
    ...rest,
    ...variables.flatMap((name) => ['-e', name]),
    imageOf(program, registryPackage),
    ...packageArguments,
  ];
}

/**
 * Returns the image name with host and version. Older entries contain these as separate fields. podman has no
 * default host, so docker.io is added.
 */
export function imageOf(program: string, { identifier, version, registryBaseUrl }: RegistryPackage): string {
  const [first = ''] = identifier.split('/');
  const hasHost = identifier.includes('/') && /[.:]|^localhost$/.test(first);
  const host = /^https?:\/\/([\w.-]+(?::\d+)?)/.exec(registryBaseUrl ?? '')?.[1];
  const isDefaultHost = host === undefined || host === 'docker.io';
  let image = identifier;
  if (!hasHost && !isDefaultHost) image = `${host}/${identifier}`;
  else if (!hasHost && program !== 'docker') image = `docker.io/${identifier}`;
  const hasVersion = image.includes('@') || /:[^/]*$/.test(image);
  return hasVersion || version === undefined ? image : `${image}:${version}`;
}

/** Escapes references, so that the gateway treats them as text. */
export const literal = (text: string): string => text.replaceAll('${', () => '$${');
