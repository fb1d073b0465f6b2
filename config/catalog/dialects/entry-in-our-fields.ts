// One entry of a client's file as a catalog would have it. The tree is rewritten before it is read along the schema, so that
// what is wrong is told at its place; what clients alone need is left out.
//
// DIA2  what a file says of switched off servers and tools holds.
// DIA3  the transport is the one that this client would have used.

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, plainValue, scalarLike, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';
import { isOwnHeader } from '../own-headers.ts';
import type { Dialect } from './dialect.ts';
import { inOurWords } from './references-in-our-words.ts';
import { readVariables } from './variables-file.ts';

/** When a person is asked, how a list is shown, how somebody logs in: the client's business. */
const clientsOwn = new Set([
  ...['alwaysAllow', 'autoApprove', 'trust', 'alwaysLoad', 'watchPaths', 'description', 'title', 'icon'],
  ...['oauth', 'auth', 'authProviderType', 'targetAudience', 'targetServiceAccount', 'extension'],
  ...['dev', 'gallery', 'version', 'sandbox', 'settings', 'source', 'remote'],
]);

/** In the order in which the clients that know several look for them. */
const addressWords = ['httpUrl', 'serverUrl', 'url'];

/** `pair` is of the file; undefined, with a remark, for a server that only its client can run. */
export function inOurFields(
  reader: SchemaReader,
  pair: YamlPair,
  path: string,
  dialect: Dialect,
): YamlTree | undefined {
  if (pair.value.kind !== 'map') return pair.value;
  const entry = new ClientEntry(reader, path, dialect, pair.value);
  return entry.read(pair.key);
}

class ClientEntry {
  readonly #reader: SchemaReader;
  readonly #path: string;
  readonly #dialect: Dialect;
  readonly #written: YamlMap;
  #pairs: YamlPair[];

  constructor(reader: SchemaReader, path: string, dialect: Dialect, written: YamlMap) {
    this.#reader = reader;
    this.#path = path;
    this.#dialect = dialect;
    this.#written = written;
    this.#pairs = [];
  }

  read(name: string): YamlTree | undefined {
    const { client } = this.#dialect;
    this.#pairs = this.#withFlatCommand().filter(({ value }) => !isNothing(value));
    const hasPlace = ['command', ...addressWords].some((key) => this.#has(key));
    if (client === 'zed' && !hasPlace) {
      this.#warn(this.#path, 'is an extension of Zed, which nobody else can start; it is left out');
      return undefined;
    }
    this.#pairs = this.#pairs.map((pair) => this.#withReferences(pair));
    this.#nameAddress();
    this.#nameTimeout();
    this.#takeEnvFile();
    this.#setOff(name);
    if (isTrue(memberOf(this.#written, 'sandboxEnabled')))
      this.#warn(
        joinPath(this.#path, 'sandboxEnabled'),
        'is ignored: the gateway starts it without a sandbox',
      );
    const pairs = this.#pairs
      .filter(({ key }) => !clientsOwn.has(key) && key !== 'sandboxEnabled')
      .map((each) => this.#plain(each));
    return { ...this.#written, pairs };
  }

  #has(key: string): boolean {
    return this.#pairs.some((pair) => pair.key === key);
  }

  #without(...keys: string[]): YamlPair[] {
    return this.#pairs.filter(({ key }) => !keys.includes(key));
  }

  #warn(path: string, message: string): void {
    this.#reader.reportKey(path, message, 'warning');
  }

  /** Zed's older form: `command: { path, args, env }`. */
  #withFlatCommand(): YamlPair[] {
    return this.#written.pairs.flatMap((pair) => {
      if (pair.key !== 'command' || pair.value.kind !== 'map') return [pair];
      return pair.value.pairs.map((inner) => (inner.key === 'path' ? { ...inner, key: 'command' } : inner));
    });
  }

  #withReferences(pair: YamlPair): YamlPair {
    return { ...pair, value: this.#translated(pair.value, joinPath(this.#path, pair.key)) };
  }

  #translated(tree: YamlTree, path: string): YamlTree {
    if (tree.kind === 'list')
      return {
        ...tree,
        items: tree.items.map((item, index) => this.#translated(item, joinPath(path, index))),
      };
    if (tree.kind === 'map') {
      const pairs = tree.pairs.map((pair) => {
        return { ...pair, value: this.#translated(pair.value, joinPath(path, pair.key)) };
      });
      return { ...tree, pairs };
    }
    if (typeof tree.value !== 'string') return tree;
    const { text, fault } = inOurWords(tree.value, this.#dialect);
    if (fault !== undefined) {
      this.#reader.place(path, tree.offset, tree.offset);
      this.#reader.report(path, fault);
    }
    return text === tree.value ? tree : scalarLike(tree, text);
  }

  #nameAddress(): void {
    const found = addressWords
      .map((word) => this.#pairs.find(({ key }) => key === word))
      .find((pair) => pair !== undefined);
    if (found === undefined) return;
    const others = this.#without(...addressWords, 'transportType');
    this.#pairs = [...others, { ...found, key: 'url' }];
    if (this.#has('type') || this.#has('runtime')) return;
    const said = textOf(memberOf(this.#written, 'transportType'));
    if (said === undefined && !this.#isOldTransport(found)) return;
    if (said === undefined || said === 'sse')
      this.#pairs.push({ ...found, key: 'type', value: scalarLike(found.value, 'sse') });
  }

  /** By an address alone (DIA3). Others than those two try both transports; which one it is shows at its end. */
  #isOldTransport({ key, value }: YamlPair): boolean {
    const { client } = this.#dialect;
    if (key === 'url' && (client === 'gemini' || client === 'cline')) return true;
    return key !== 'httpUrl' && /\/sse\/?(?:[?#]|$)/.test(textOf(value) ?? '');
  }

  /** Longer than the longest that those take who count in seconds. */
  #nameTimeout(): void {
    const pair = this.#pairs.find(({ key }) => key === 'timeout');
    const value = pair && plainValue(pair.value);
    if (pair === undefined || typeof value !== 'number') return;
    this.#pairs = this.#without('timeout');
    if (value <= 0 || this.#has('request_timeout_seconds')) return;
    const isMs =
      this.#dialect.client === 'gemini' || (this.#dialect.client !== 'cline' && value > MOST_SECONDS);
    const seconds = isMs ? value / 1000 : value;
    this.#pairs.push({ ...pair, key: 'request_timeout_seconds', value: scalarLike(pair.value, seconds) });
    if (seconds > USUAL_MOST_SECONDS && !this.#has('max_request_seconds'))
      this.#pairs.push({ ...pair, key: 'max_request_seconds', value: scalarLike(pair.value, seconds) });
  }

  /** What stands in `env` is stronger. */
  #takeEnvFile(): void {
    const pair = this.#pairs.find(({ key }) => key === 'envFile');
    const written = textOf(pair?.value);
    if (pair === undefined || written === undefined || written === '') return;
    this.#pairs = this.#without('envFile');
    const at = joinPath(this.#path, 'envFile');
    if (this.#reader.isFaulty(at)) return;
    const path = resolve(this.#dialect.folder, written.replace(/^~(?=$|[\\/])/, homedir()));
    const found = readVariables(path);
    if (found.reason !== undefined) {
      this.#reader.place(at, pair.keyOffset, pair.value.offset);
      this.#reader.report(at, `${path}: ${found.reason}`);
      return;
    }
    const env = this.#pairs.find(({ key }) => key === 'env');
    const own = env?.value.kind === 'map' ? env.value.pairs : [];
    const isReference = this.#dialect.envFiles === 'references';
    const more = Object.entries(found.values)
      .filter(([name]) => !own.some(({ key }) => key === name))
      .map(([name, text]) => {
        const value = isReference ? `\${${name}}` : text.replaceAll('${', () => '$${');
        return { key: name, keyOffset: pair.keyOffset, value: scalarLike(pair.value, value) };
      });
    const value: YamlMap = { kind: 'map', offset: (env ?? pair).value.offset, pairs: [...own, ...more] };
    this.#pairs = [...this.#without('env'), { ...(env ?? pair), key: 'env', value }];
  }

  #setOff(name: string): void {
    if (!this.#dialect.isOff(name)) return;
    const { offset } = this.#written;
    const value = { kind: 'scalar', offset, end: offset, value: false } as const;
    this.#pairs = [...this.#without('enabled', 'disabled'), { key: 'enabled', keyOffset: offset, value }];
  }

  /** Variables may be numbers there; and headers that the gateway sets itself are no harm. */
  #plain(pair: YamlPair): YamlPair {
    const { key, value } = pair;
    if ((key !== 'env' && key !== 'headers') || value.kind !== 'map') return pair;
    const members = value.pairs.filter((member) => {
      if (key === 'env') return !isNothing(member.value);
      if (!isOwnHeader(member.key)) return true;
      const at = joinPath(joinPath(this.#path, key), member.key);
      this.#reader.place(at, member.keyOffset, member.value.offset);
      this.#warn(at, 'is ignored: it is set by the gateway itself');
      return false;
    });
    const pairs = members.map((member) => ({ ...member, value: asText(member.value) }));
    return { ...pair, value: { ...value, pairs } };
  }
}

const MOST_SECONDS = 3600;
/** `max_request_seconds` where nothing is said. */
const USUAL_MOST_SECONDS = 600;

function isNothing(tree: YamlTree): boolean {
  return tree.kind === 'scalar' && (tree.value === null || tree.value === undefined);
}

function isTrue(tree: YamlTree | undefined): boolean {
  return tree?.kind === 'scalar' && tree.value === true;
}

function asText(tree: YamlTree): YamlTree {
  if (tree.kind !== 'scalar' || (typeof tree.value !== 'number' && typeof tree.value !== 'boolean'))
    return tree;
  return scalarLike(tree, String(tree.value));
}
