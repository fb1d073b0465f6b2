// The providers of models, from the gateway file and from the environment. What is known needs no entry: its key comes from
// the variable that its users have set anyway.
//
// PV1  a key of the usual variables is sent to the address of its own provider only: an entry with a base_url has a key of its own.
// PV2  every key that was found is among the secrets, wherever it came from (A9).

import type { SecretValues } from '../reader/secret-values.ts';
import type { Environment } from '../reader/substitute.ts';
import { suggest } from '../reader/suggest.ts';
import {
  type ProviderType,
  providerTypes,
  sendable,
  type WrittenProvider,
  type WrittenProviders,
} from './provider-schema.ts';

/** Filled: nothing of it has to be looked up again. */
export interface ResolvedProvider {
  readonly name: string;
  readonly type: ProviderType;
  /** Undefined: it is asked without one. */
  readonly api_key: string | undefined;
  /** Without a slash at its end. */
  readonly base_url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How it is asked for an answer by a schema. */
  readonly structured_output: 'json_schema' | 'json_object' | 'prompt';
  /** Undefined: what is right for most. */
  readonly timeout_seconds?: number | undefined;
}

/** By name. */
export type Providers = ReadonlyMap<string, ResolvedProvider>;

interface KnownType {
  readonly base_url: string | undefined;
  /** Variables that may hold its key, the first that is set counts; none: it needs no key. */
  readonly variables: readonly string[];
  readonly structured_output: ResolvedProvider['structured_output'];
}

const known: Readonly<Record<ProviderType, KnownType>> = {
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
    // Only some of its models take a schema.
    structured_output: 'json_object',
  },
  ollama: { base_url: undefined, variables: [], structured_output: 'json_schema' },
  'openai-compatible': { base_url: undefined, variables: [], structured_output: 'prompt' },
};

const isType = (name: string): name is ProviderType => (providerTypes as readonly string[]).includes(name);
/** The last one needs an address. */
const namedTypes = providerTypes.filter((type) => type !== 'openai-compatible');

/** The provider of that name, or why there is none that could be asked. */
export function findProvider(
  name: string,
  written: WrittenProviders,
  env: Environment,
): ResolvedProvider | { readonly fault: string } {
  const entry = Object.hasOwn(written, name) ? (written[name] ?? {}) : undefined;
  if (entry === undefined && !isType(name)) return { fault: unknownFault(name, Object.keys(written)) };
  const { headers = {}, structured_output, timeout_seconds }: WrittenProvider = entry ?? {};
  const type = entry?.type ?? (isType(name) ? name : 'openai-compatible');
  const { variables, structured_output: byDefault } = known[type];
  const base_url = entry?.base_url ?? usualAddress(type, env);
  if (base_url === undefined)
    return {
      fault: `provider ${name} has no address: give it a base_url under providers of the gateway file`,
    };
  const isElsewhere = entry?.base_url !== undefined;
  const usual = entry?.api_key || isElsewhere ? undefined : firstSetIn(variables, env);
  const api_key = entry?.api_key || usual?.value;
  if (usual !== undefined && !isSendable.test(usual.value))
    return {
      fault: `provider ${name} has no key that can be sent: ${usual.name} holds a line break, or another sign that no header takes; set it to the key alone`,
    };
  const isBare = !isElsewhere && Object.keys(headers).length === 0;
  if (api_key === undefined && variables.length > 0 && isBare)
    return { fault: `provider ${name} has no key: set the environment variable ${variables.join(' or ')}` };
  return {
    name,
    type,
    api_key,
    base_url: base_url.replace(/\/+$/, ''),
    headers,
    structured_output: structured_output ?? byDefault,
    timeout_seconds,
  };
}

/** All that can be asked; their keys are secrets. */
export function usableProviders(
  written: WrittenProviders,
  env: Environment,
  secrets: SecretValues,
): Providers {
  const names = new Set([...namedTypes, ...Object.keys(written)]);
  const found = [...names].map((name) => findProvider(name, written, env));
  const usable = found.flatMap((each) => ('fault' in each ? [] : [each]));
  // The reader of the gateway file has collected its keys and headers; only environment keys are new.
  for (const { api_key } of usable) if (api_key !== undefined) secrets.add(api_key);
  return new Map(usable.map((provider) => [provider.name, provider]));
}

function unknownFault(name: string, written: readonly string[]): string {
  const near = suggest(name, [...namedTypes, ...written]);
  const advice = near === undefined ? '' : `; did you mean ${near}?`;
  return `there is no provider ${name}${advice || `: known are ${namedTypes.join(', ')}; any other needs an entry under providers of the gateway file`}`;
}

/** A header can hold it as it is. */
const isSendable = new RegExp(sendable);

function firstSet(variables: readonly string[], env: Environment): string | undefined {
  return firstSetIn(variables, env)?.value;
}

function firstSetIn(variables: readonly string[], env: Environment) {
  return variables
    .map((name) => ({ name, value: Object.hasOwn(env, name) ? (env[name]?.trim() ?? '') : '' }))
    .find(({ value }) => value !== '');
}

function usualAddress(type: ProviderType, env: Environment): string | undefined {
  return type === 'ollama' ? ollamaAddress(firstSet(['OLLAMA_HOST'], env)) : known[type].base_url;
}

const OLLAMA_PORT = 11434;

/** OLLAMA_HOST is HOST, HOST:PORT or an address; a server has the address in it on which it listens, perhaps all of them. */
function ollamaAddress(host: string | undefined): string {
  const text = host === undefined ? '127.0.0.1' : host;
  const written = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(written)) return `http://127.0.0.1:${OLLAMA_PORT}/v1`;
  const url = new URL(written);
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  if (url.port === '' && !/:\d+\/?$/.test(written) && url.protocol === 'http:')
    url.port = String(OLLAMA_PORT);
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}
