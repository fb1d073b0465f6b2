// How a package of a registry is run: by which program, with which command line; and what to do with a package that no program here runs.
//
// RGP2  identifiers and versions are those of packages: none of them is an option of the program that runs it, and none means anything to a shell.

import type { RegistryPackage } from '../../../actors/mcp/registry/registry-entry.ts';

/** What is known of the machine that a command is written for. */
export interface InstallingMachine {
  hasProgram(name: string): boolean;
  hasVariable(name: string): boolean;
}

/** One that has everything, and says nothing. */
export const anyMachine: InstallingMachine = { hasProgram: () => true, hasVariable: () => false };

/** The programs that run a kind, the usual one first, and where that comes from. */
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

/** Whether its identifier and its version are such (RGP2); of a kind that is not known that is all that is asked. */
export function isPackage({ registryType, identifier, version }: RegistryPackage): boolean {
  const pattern = identifiers[registryType] ?? /^[A-Za-z0-9][\w.:/@+-]*$/;
  return pattern.test(identifier) && (version === undefined || plainVersion.test(version));
}

/** Of those that can run it the one that the entry names, or the usual one, if it is there; undefined where none can. */
export function programFor(
  { registryType, runtimeHint }: RegistryPackage,
  machine: InstallingMachine,
): string | undefined {
  const programs = runners[registryType]?.programs;
  if (programs === undefined) return undefined;
  const [first] = programs;
  const meant = programs.find((each) => each === runtimeHint) ?? first;
  return machine.hasProgram(meant) ? meant : (programs.find((each) => machine.hasProgram(each)) ?? meant);
}

/** Where a program is to be had. */
export function whereFrom(program: string): string | undefined {
  return Object.values(runners).find(({ programs }) => programs.includes(program))?.from;
}

/** By these a client of containers finds its engine, where it is not at its usual place. */
const ofEngines = ['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'CONTAINER_HOST', 'XDG_RUNTIME_DIR'];

/** Variables of the machine that the program needs besides. */
export function inheritedBy({ registryType }: RegistryPackage, machine: InstallingMachine): string[] {
  return registryType === 'oci' ? ofEngines.filter((name) => machine.hasVariable(name)) : [];
}

/** What somebody can do who wants a package that is not installed here. */
export function byHand({ registryType, identifier, version, fileSha256 }: RegistryPackage): string {
  const own = version === undefined ? identifier : `${identifier}@${version}`;
  if (registryType === 'mcpb') {
    const sum = fileSha256 === undefined ? '' : `, check its SHA-256 (${fileSha256})`;
    return `a bundle is not installed by this command; download it${sum}, unpack it as a zip file, and add the command in its manifest.json: actor-gateway servers add NAME -- COMMAND`;
  }
  if (registryType === 'nuget')
    return `packages of .NET are not installed by this command; with its SDK (10 or newer) add it, and its arguments behind a second --: actor-gateway servers add NAME -- dnx ${own} --yes`;
  return 'packages of this kind are not installed by this command; install it as its maker says, and add its command: actor-gateway servers add NAME -- COMMAND';
}

/** Returns the options to write between program and package. */
export function optionsOf(
  { registryType, identifier }: Pick<RegistryPackage, 'registryType' | 'identifier'>,
  runtime: readonly string[],
): readonly string[] {
  // Some entries repeat the package among the options.
  const rest = runtime.filter((word) => word !== identifier && !word.startsWith(`${identifier}@`));
  return registryType === 'oci' && rest[0] === 'run' ? rest.slice(1) : rest;
}

/** What the program is given: its own arguments, the package, and those of the package. */
export function commandLine(
  given: RegistryPackage,
  program: string,
  runtime: readonly string[],
  own: readonly string[],
  variables: readonly string[],
): string[] {
  const { registryType, identifier, version, registryBaseUrl } = given;
  const rest = optionsOf(given, runtime);
  if (registryType === 'npm') {
    const yes = rest.some((word) => word === '-y' || word === '--yes') ? [] : ['-y'];
    const isOther =
      registryBaseUrl !== undefined && !/^https:\/\/registry\.npmjs\.org(?:\/|$)/.test(registryBaseUrl);
    const from = isOther ? [`--registry=${literal(registryBaseUrl)}`] : [];
    return [
      ...yes,
      ...from,
      ...rest,
      version === undefined ? identifier : `${identifier}@${version}`,
      ...own,
    ];
  }
  if (registryType === 'pypi')
    return [...rest, version === undefined ? identifier : `${identifier}==${version}`, ...own];
  const usual = ['-i', '--rm'].filter((option) => !rest.includes(option));
  return [
    'run',
    ...usual,
    ...rest,
    ...variables.flatMap((name) => ['-e', name]),
    imageOf(program, given),
    ...own,
  ];
}

/** Older entries have the host and the version apart. Of an image without a host only docker knows where it is. */
export function imageOf(program: string, { identifier, version, registryBaseUrl }: RegistryPackage): string {
  const [first = ''] = identifier.split('/');
  const hasHost = identifier.includes('/') && /[.:]|^localhost$/.test(first);
  const host = /^https?:\/\/([\w.-]+(?::\d+)?)/.exec(registryBaseUrl ?? '')?.[1];
  const isUsual = host === undefined || host === 'docker.io';
  const usual = program === 'docker' ? identifier : `docker.io/${identifier}`;
  const image = hasHost ? identifier : isUsual ? usual : `${host}/${identifier}`;
  const hasVersion = image.includes('@') || /:[^/]*$/.test(image);
  return hasVersion || version === undefined ? image : `${image}:${version}`;
}

/** Text in which nothing is a reference. */
export const literal = (text: string): string => text.replaceAll('${', () => '$${');
