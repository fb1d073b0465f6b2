// An entry of a registry of servers, as far as it says how a server is run: its `server.json`, read from what the registry answers. What
// has another form than it should is left out, as if it had not been said.

export interface RegistryInput {
  readonly description?: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly format?: string;
  /** What stands there, with `{names}` of variables in it; without it the user says what. */
  readonly value?: string;
  readonly default?: string;
  readonly placeholder?: string;
  readonly choices: readonly string[];
  readonly variables: Readonly<Record<string, RegistryInput>>;
}

/** A variable of the environment, or a header. */
export interface NamedInput extends RegistryInput {
  readonly name: string;
}

export interface RegistryArgument extends RegistryInput {
  readonly type: 'positional' | 'named';
  /** With its dashes. */
  readonly name?: string;
  readonly valueHint?: string;
  readonly isRepeated: boolean;
}

export interface RegistryPackage {
  readonly registryType: string;
  readonly registryBaseUrl?: string;
  readonly identifier: string;
  readonly version?: string;
  readonly fileSha256?: string;
  readonly runtimeHint?: string;
  readonly transport: string;
  readonly runtimeArguments: readonly RegistryArgument[];
  readonly packageArguments: readonly RegistryArgument[];
  readonly environmentVariables: readonly NamedInput[];
}

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
  /** `active` where the registry does not say. */
  readonly status: string;
  readonly statusMessage?: string;
  readonly isLatest: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** Undefined for what is no entry. */
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
    ...some('statusMessage', statusMessage),
    isLatest: isLatest === true,
  };
}

function readPackage(given: unknown): RegistryPackage[] {
  const { registryType, identifier, transport, ...rest } = record(given);
  if (typeof registryType !== 'string' || typeof identifier !== 'string') return [];
  return [
    {
      registryType,
      identifier,
      transport: text(record(transport).type) ?? 'stdio',
      ...some('registryBaseUrl', rest.registryBaseUrl),
      ...some('version', rest.version),
      ...some('runtimeHint', rest.runtimeHint),
      ...(/^[a-f0-9]{64}$/.test(String(rest.fileSha256)) ? some('fileSha256', rest.fileSha256) : {}),
      runtimeArguments: list(rest.runtimeArguments).flatMap(readArgument),
      packageArguments: list(rest.packageArguments).flatMap(readArgument),
      environmentVariables: list(rest.environmentVariables).flatMap(readNamed),
    },
  ];
}

function readRemote(given: unknown): RegistryRemote[] {
  const { type, url, headers, variables } = record(given);
  if (typeof type !== 'string' || typeof url !== 'string') return [];
  return [{ type, url, headers: list(headers).flatMap(readNamed), variables: readVariables(variables) }];
}

function readArgument(given: unknown): RegistryArgument[] {
  const { type, name, valueHint, isRepeated } = record(given);
  if (type !== 'positional' && type !== 'named') return [];
  if (type === 'named' && typeof name !== 'string') return [];
  return [
    {
      ...readInput(given),
      type,
      ...some('name', name),
      ...some('valueHint', valueHint),
      isRepeated: isRepeated === true,
    },
  ];
}

function readNamed(given: unknown): NamedInput[] {
  const { name } = record(given);
  return typeof name === 'string' && name !== '' ? [{ ...readInput(given), name }] : [];
}

function readInput(given: unknown): RegistryInput {
  const input = record(given);
  return {
    isRequired: input.isRequired === true,
    isSecret: input.isSecret === true,
    ...some('description', input.description),
    ...some('format', input.format),
    ...some('value', input.value),
    ...some('default', input.default),
    ...some('placeholder', input.placeholder),
    choices: list(input.choices).filter((each) => typeof each === 'string'),
    variables: readVariables(input.variables),
  };
}

function readVariables(given: unknown): Readonly<Record<string, RegistryInput>> {
  return Object.fromEntries(Object.entries(record(given)).map(([name, input]) => [name, readInput(input)]));
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const record = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** A member, where it is a text that says something. */
function some<Key extends string>(key: Key, value: unknown): { readonly [K in Key]?: string } {
  const said = text(value);
  return said === undefined ? {} : ({ [key]: said } as { readonly [K in Key]?: string });
}
