// Parses an entry of an MCP registry, a public directory of servers. The entry (`server.json`) describes how
// to run a server. Invalid members are treated as missing.

/** Value of an argument, variable or header; fixed, or provided by the user. */
export interface RegistryInput {
  readonly description?: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly format?: string;
  /** Value with `{name}` placeholders for variables. Without it the user provides the value. */
  readonly value?: string;
  readonly default?: string;
  readonly placeholder?: string;
  readonly choices: readonly string[];
  readonly variables: Readonly<Record<string, RegistryInput>>;
}

/** An environment variable or a header. */
export interface NamedInput extends RegistryInput {
  readonly name: string;
}

export interface RegistryArgument extends RegistryInput {
  readonly type: 'positional' | 'named';
  /** Includes its dashes. */
  readonly name?: string;
  /** Name of the value, for display. */
  readonly valueHint?: string;
  /** True if the argument may occur several times. */
  readonly isRepeated: boolean;
}

/** A package that runs the server locally. */
export interface RegistryPackage {
  /** Package registry, such as `npm`, `pypi` or `oci`. */
  readonly registryType: string;
  readonly registryBaseUrl?: string;
  readonly identifier: string;
  readonly version?: string;
  readonly fileSha256?: string;
  /** Command that runs the package, such as `npx`. */
  readonly runtimeHint?: string;
  /** `stdio`, or a transport of a package that listens on a port. */
  readonly transport: string;
  /** Arguments of the runtime, before the package. */
  readonly runtimeArguments: readonly RegistryArgument[];
  /** Arguments of the package itself. */
  readonly packageArguments: readonly RegistryArgument[];
  readonly environmentVariables: readonly NamedInput[];
}

/** An address at which the server runs remotely. */
export interface RegistryRemote {
  readonly type: string;
  readonly url: string;
  readonly headers: readonly NamedInput[];
  readonly variables: Readonly<Record<string, RegistryInput>>;
}

export interface RegistryEntry {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly packages: readonly RegistryPackage[];
  readonly remotes: readonly RegistryRemote[];
  /** `active` if the registry does not provide a status. */
  readonly status: string;
  readonly statusMessage?: string;
  readonly isLatest: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Key of the registry's own data in `_meta`. */
const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** Returns the entry; undefined if `answer` is not a valid one. */
export function readEntry(answer: unknown): RegistryEntry | undefined {
  const { server, _meta } = record(answer);
  const { name, description, version, packages, remotes, status: ownStatus } = record(server);
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  const { status, statusMessage, isLatest } = record(record(_meta)[OFFICIAL]);
  return {
    name,
    description: text(description) ?? '',
    version,
    packages: list(packages).flatMap(readPackage),
    remotes: list(remotes).flatMap(readRemote),
    status: text(status) ?? text(ownStatus) ?? 'active',
    ...optionalText('statusMessage', statusMessage),
    isLatest: isLatest === true,
  };
}

function readPackage(json: unknown): RegistryPackage[] {
  const { registryType, identifier, transport, ...rest } = record(json);
  if (typeof registryType !== 'string' || typeof identifier !== 'string') return [];
  return [
    {
      registryType,
      identifier,
      transport: text(record(transport).type) ?? 'stdio',
      ...optionalText('registryBaseUrl', rest.registryBaseUrl),
      ...optionalText('version', rest.version),
      ...optionalText('runtimeHint', rest.runtimeHint),
      ...(/^[a-f0-9]{64}$/.test(String(rest.fileSha256)) ? optionalText('fileSha256', rest.fileSha256) : {}),
      runtimeArguments: list(rest.runtimeArguments).flatMap(readArgument),
      packageArguments: list(rest.packageArguments).flatMap(readArgument),
      environmentVariables: list(rest.environmentVariables).flatMap(readNamed),
    },
  ];
}

function readRemote(json: unknown): RegistryRemote[] {
  const { type, url, headers, variables } = record(json);
  if (typeof type !== 'string' || typeof url !== 'string') return [];
  return [{ type, url, headers: list(headers).flatMap(readNamed), variables: readVariables(variables) }];
}

function readArgument(json: unknown): RegistryArgument[] {
  const { type, name, valueHint, isRepeated } = record(json);
  if (type !== 'positional' && type !== 'named') return [];
  if (type === 'named' && typeof name !== 'string') return [];
  return [
    {
      ...readInput(json),
      type,
      ...optionalText('name', name),
      ...optionalText('valueHint', valueHint),
      isRepeated: isRepeated === true,
    },
  ];
}

function readNamed(json: unknown): NamedInput[] {
  const { name } = record(json);
  return typeof name === 'string' && name !== '' ? [{ ...readInput(json), name }] : [];
}

function readInput(json: unknown): RegistryInput {
  const input = record(json);
  return {
    isRequired: input.isRequired === true,
    isSecret: input.isSecret === true,
    ...optionalText('description', input.description),
    ...optionalText('format', input.format),
    ...optionalText('value', input.value),
    ...optionalText('default', input.default),
    ...optionalText('placeholder', input.placeholder),
    choices: list(input.choices).filter((each) => typeof each === 'string'),
    variables: readVariables(input.variables),
  };
}

function readVariables(json: unknown): Readonly<Record<string, RegistryInput>> {
  return Object.fromEntries(Object.entries(record(json)).map(([name, input]) => [name, readInput(input)]));
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** Returns an object with this member if `value` is a non-empty string, otherwise an empty object. */
function optionalText<Key extends string>(key: Key, value: unknown): { readonly [K in Key]?: string } {
  const nonEmpty = text(value);
  return nonEmpty === undefined ? {} : ({ [key]: nonEmpty } as { readonly [K in Key]?: string });
}
