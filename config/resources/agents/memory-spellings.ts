// What others write of an agent's memory, as `memory: { messages }`. Where it is kept is not for an agent to say here: it is in
// the gateway's store, with the conversation; what was written of that has no effect, and a warning says so.

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, scalarLike, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';

const MAX_MESSAGES = 'max_context_messages';
const NO_EFFECT =
  'where it is kept has no effect: conversations are in the store of the gateway; write memory: { messages: 40 }, or none';
const none = /^(?:none|off|disabled)$/i;
/** Words for a place of its own, the longest beginning of what they are followed by. */
const place = /^(?:in[_-]?memory|(?:file|sqlite|redis|postgres(?:ql)?):?.*?(?::(\d+))?)$/i;
/** A mapping with one of these is of that kind. */
const placeKeys = ['type', 'backend', 'provider', 'persistence', 'enabled'];
const countKeys = ['max_messages', 'maxMessages', MAX_MESSAGES];

/** `spec` with `memory` in our words, and without `max_context_messages`. */
export function memoryMeant(reader: SchemaReader, spec: YamlMap, path: string): YamlMap {
  const limit = spec.pairs.find(({ key }) => key === MAX_MESSAGES || key === 'maxContextMessages');
  const memory = spec.pairs.find(({ key }) => key === 'memory');
  const at = joinPath(path, 'memory');
  const meant = memory === undefined ? undefined : { ...memory, value: valueMeant(reader, memory, at) };
  const rest = spec.pairs.filter((pair) => pair !== limit && pair !== memory);
  const both = limit === undefined ? meant : withLimit(reader, meant, limit, path);
  return { ...spec, pairs: both === undefined ? rest : [...rest, both] };
}

function withLimit(
  reader: SchemaReader,
  memory: YamlPair | undefined,
  limit: YamlPair,
  path: string,
): YamlPair {
  const messages = { ...limit, key: 'messages' };
  const own: YamlPair = { ...limit, key: 'memory', value: mapOf(limit.value, [messages]) };
  if (memory === undefined) return own;
  const isOpen = memory.value.kind === 'map' && memberOf(memory.value, 'messages') === undefined;
  if (isOpen && memory.value.kind === 'map')
    return { ...memory, value: { ...memory.value, pairs: [...memory.value.pairs, messages] } };
  const at = joinPath(path, limit.key);
  reader.place(at, limit.keyOffset, limit.value.offset);
  reader.reportKey(at, 'means memory.messages, and memory says already how much is remembered');
  return memory;
}

function valueMeant(reader: SchemaReader, { keyOffset, value }: YamlPair, at: string): YamlTree {
  const word = textOf(value);
  if (word !== undefined && none.test(word)) return scalarLike(value, 'none');
  const found = word === undefined ? undefined : place.exec(word);
  const isPlace = value.kind === 'map' && placeKeys.some((key) => memberOf(value, key) !== undefined);
  if (found === undefined && !isPlace) return value;
  if (found === null) return value;
  reader.place(at, keyOffset, value.offset);
  if (value.kind !== 'map') {
    reader.report(at, NO_EFFECT, 'warning');
    const count = found?.[1];
    return mapOf(value, count === undefined ? [] : [messagesOf(scalarLike(value, Number(count)))]);
  }
  const isOff = memberOf(value, 'enabled');
  if (isOff?.kind === 'scalar' && isOff.value === false) return scalarLike(value, 'none');
  reader.report(at, NO_EFFECT, 'warning');
  const settings = [value, memberOf(value, 'config')].filter((each) => each !== undefined);
  const count = settings.flatMap((each) => countKeys.map((key) => memberOf(each, key))).find(Boolean);
  const kept = value.pairs.filter(({ key }) => key === 'messages' || key === 'characters');
  return mapOf(value, count === undefined ? kept : [...kept, messagesOf(count)]);
}

const mapOf = ({ offset }: YamlTree, pairs: readonly YamlPair[]): YamlMap => ({ kind: 'map', offset, pairs });

const messagesOf = (value: YamlTree): YamlPair => ({ key: 'messages', keyOffset: value.offset, value });
