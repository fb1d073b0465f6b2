// Resolves model providers from the gateway file and the environment. A known provider needs no entry: its
// key comes from the standard variable, such as OPENAI_API_KEY. This key is sent only to the provider's
// default address: an entry with a `base_url` needs a separate `api_key`. All keys are redacted (A9,
// ARCHITECTURE.md).

import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { suggest } from '../reader/suggest.ts';
import {
  type ProviderType,
  providerTypes,
  sendableKeyPattern,
  type WrittenProvider,
  type WrittenProviders,
} from './provider-schema.ts';

/** Resolved provider. */
export interface ResolvedProvider {
  readonly name: string;
  readonly type: ProviderType;
  /** Undefined if no key is needed. */
  readonly api_key: string | undefined;
  /** Trailing slashes are removed. */
  readonly base_url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Method for structured output: the model's JSON Schema mode, its JSON mode, or an instruction only. */
  readonly structured_output: 'json_schema' | 'json_object' | 'prompt';
  /** Undefined for the default. */
  readonly timeout_seconds?: number | undefined;
}

/** Providers by name. */
export type Providers = ReadonlyMap<string, ResolvedProvider>;

interface KnownType {
  readonly base_url: string | undefined;
  /** Variables for the key, in order of precedence; empty if no key is needed. */
  readonly variables: readonly string[];
  readonly structured_output: ResolvedProvider['structured_output'];
}

const knownTypes: Readonly<Record<ProviderType, KnownType>> = {
  openai: {
    base_url: 'https://api.openai.com/v1',
    variables: ['OPENAI_API_KEY'],
    structured_output: 'json_schema',
  },
  anthropic: {
    base_url: 'https://api.anthropic.com/v1',
    variables: ['ANTHROPIC_API_KEY'],
    structured_output: 'json_schema',
  },
  google: {
    base_url: 'https://generativelanguage.googleapis.com/v1beta',
    variables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    structured_output: 'json_schema',
  },
  groq: {
    base_url: 'https://api.groq.com/openai/v1',
    variables: ['GROQ_API_KEY'],
    // Only some models support a schema.
    structured_output: 'json_object',
  },
  ollama: { base_url: undefined, variables: [], structured_output: 'json_schema' },
  'openai-compatible': { base_url: undefined, variables: [], structured_output: 'prompt' },
};

const isProviderType = (name: string): name is ProviderType =>
  (providerTypes as readonly string[]).includes(name);
/** Providers that need no entry. `openai-compatible` needs an entry with an address. */
const knownNames = providerTypes.filter((type) => type !== 'openai-compatible');

/** Returns the provider, or the reason why it cannot be used. `entries`: providers of the gateway file. */
export function findProvider(
  name: string,
  entries: WrittenProviders,
  env: Environment,
): ResolvedProvider | { readonly fault: string } {
  const entry = Object.hasOwn(entries, name) ? (entries[name] ?? {}) : undefined;
  if (entry === undefined && !isProviderType(name))
    return { fault: unknownFault(name, Object.keys(entries)) };
  const { headers = {}, structured_output, timeout_seconds }: WrittenProvider = entry ?? {};
  const type = entry?.type ?? (isProviderType(name) ? name : 'openai-compatible');
  const { variables, structured_output: defaultStructuredOutput } = knownTypes[type];
  const base_url = entry?.base_url ?? defaultAddress(type, env);
  if (base_url === undefined)
    return {
      fault: `provider ${name} has no address: give it a base_url under providers of the gateway file`,
    };
  const hasBaseUrl = entry?.base_url !== undefined;
  // An empty `api_key` counts as none.
  const standardKey = entry?.api_key || hasBaseUrl ? undefined : firstSetVariable(variables, env);
  const api_key = entry?.api_key || standardKey?.value;
  if (standardKey !== undefined && !sendableKey.test(standardKey.value))
    return {
      fault: `provider ${name} has an invalid key: ${standardKey.name} contains a line break or another character not allowed in headers; set it to the key only`,
    };
  // A provider at another address may need no key, and headers may contain the key.
  const needsKey = variables.length > 0 && !hasBaseUrl && Object.keys(headers).length === 0;
  if (api_key === undefined && needsKey)
    return { fault: `provider ${name} has no key: set the environment variable ${variables.join(' or ')}` };
  return {
    name,
    type,
    api_key,
    base_url: base_url.replace(/\/+$/, ''),
    headers,
    structured_output: structured_output ?? defaultStructuredOutput,
    timeout_seconds,
  };
}

/** Returns all usable providers; records their keys as secrets. */
export function usableProviders(
  entries: WrittenProviders,
  env: Environment,
  secrets: SecretValues,
): Providers {
  const names = new Set([...knownNames, ...Object.keys(entries)]);
  const results = [...names].map((name) => findProvider(name, entries, env));
  const usable = results.flatMap((each) => ('fault' in each ? [] : [each]));
  // Reading the gateway file already recorded the keys and headers in it; only environment keys are new.
  for (const { api_key } of usable) if (api_key !== undefined) secrets.add(api_key);
  return new Map(usable.map((provider) => [provider.name, provider]));
}

function unknownFault(name: string, entryNames: readonly string[]): string {
  const near = suggest(name, [...knownNames, ...entryNames]);
  const advice = near === undefined ? '' : `; did you mean ${near}?`;
  return `unknown provider ${name}${advice || `; known are ${knownNames.join(', ')}; others need an entry under providers of the gateway file`}`;
}

/** Keys that can be sent in a header. */
const sendableKey = new RegExp(sendableKeyPattern);

/** Returns name and value of the first variable that is set and not empty. */
function firstSetVariable(variables: readonly string[], env: Environment) {
  return variables
    .map((name) => ({ name, value: Object.hasOwn(env, name) ? (env[name]?.trim() ?? '') : '' }))
    .find(({ value }) => value !== '');
}

function defaultAddress(type: ProviderType, env: Environment): string | undefined {
  return type === 'ollama'
    ? ollamaAddress(firstSetVariable(['OLLAMA_HOST'], env)?.value)
    : knownTypes[type].base_url;
}

const OLLAMA_PORT = 11434;

/**
 * Converts OLLAMA_HOST, which is HOST, HOST:PORT or a URL. On a machine that runs the Ollama server, it is
 * the server's listen address: a wildcard becomes the loopback address.
 */
function ollamaAddress(host: string | undefined): string {
  const text = host === undefined ? '127.0.0.1' : host;
  const address = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(address)) return `http://127.0.0.1:${OLLAMA_PORT}/v1`;
  const url = new URL(address);
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  // `url.port` is also empty for an explicit `:80`, the default port of http, so the text is checked too.
  if (url.port === '' && !/:\d+\/?$/.test(address) && url.protocol === 'http:')
    url.port = String(OLLAMA_PORT);
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}
