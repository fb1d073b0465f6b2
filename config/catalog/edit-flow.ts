// Servers between braces, as JSON has it and YAML may. What is added is JSON, on lines of its own where the others are.

import type { CST, Pair, YAMLMap } from 'yaml';
import {
  type Cut,
  endOf,
  hasCommentBefore,
  indentAt,
  lineBreakOf,
  lineEnd,
  lineStart,
  type Refusal,
  startOf,
} from './catalog-text.ts';
import type { FilesWords } from './dialects/entry-in-their-words.ts';

/** A member behind the others, or in the place of one of them. */
export function addToFlow(
  text: string,
  map: YAMLMap,
  replaced: Pair | undefined,
  name: string,
  value: unknown,
): Cut[] {
  const [open = 0, close = 0] = map.range ?? [];
  const eol = lineBreakOf(text);
  const { isLines, indent, unit } = layoutOf(text, map);
  const json = (between: string) =>
    JSON.stringify(value, undefined, isLines ? unit : undefined).replaceAll('\n', eol + between);
  if (replaced !== undefined) {
    const [start = 0, end = 0] = (replaced.value as { range?: [number, number] } | null)?.range ?? [];
    return [{ start, end, text: json(indentAt(text, startOf(replaced))) }];
  }
  const member = `${JSON.stringify(name)}: ${json(indent)}`;
  const last = map.items.at(-1) as Pair | undefined;
  if (last === undefined) {
    const inner = text.slice(open + 1, close - 1);
    if (inner.trim() !== '')
      return [{ start: close - 1, end: close - 1, text: `${member}${isLines ? eol : ''}` }];
    const around = isLines ? [eol + indent, eol + indentAt(text, open)] : ['', ''];
    return [{ start: open + 1, end: close - 1, text: around.join(member) }];
  }
  const end = endOf(last);
  const comma = commaBehind(map, map.items.length - 1);
  if (!isLines) {
    if (comma !== undefined) return [{ start: comma + 1, end: comma + 1, text: ` ${member},` }];
    return [{ start: end, end, text: `, ${member}` }];
  }
  const behind = (comma ?? end - 1) + 1;
  const rest = text.slice(behind, lineEnd(text, behind));
  // A comment behind the last one stays with it.
  const at = /^[ \t]*(?:#.*)?\r?\n$/.test(rest) ? behind + rest.trimEnd().length : behind;
  const line = `${eol}${indent}${member}${comma === undefined ? '' : ','}`;
  if (comma !== undefined) return [{ start: at, end: at, text: line }];
  if (at === end) return [{ start: end, end, text: `,${line}` }];
  return [
    { start: end, end, text: ',' },
    { start: at, end: at, text: line },
  ];
}

export function removeFromFlow(text: string, map: YAMLMap, pair: Pair): Cut[] {
  const [open = 0, close = 0] = map.range ?? [];
  const index = map.items.indexOf(pair as (typeof map.items)[number]);
  const start = startOf(pair);
  const end = endOf(pair);
  const comma = commaBehind(map, index);
  const behind = (comma ?? end - 1) + 1;
  if (map.items.length === 1) {
    const isAlone = (text.slice(open + 1, start) + text.slice(behind, close - 1)).trim() === '';
    return [isAlone ? { start: open + 1, end: close - 1, text: '' } : { start, end: behind, text: '' }];
  }
  if (index < map.items.length - 1) {
    const space = /^\s*/.exec(text.slice(behind))?.[0].length ?? 0;
    return [{ start, end: behind + space, text: '' }];
  }
  const space = /\s*$/.exec(text.slice(open + 1, start))?.[0].length ?? 0;
  const before = commaBehind(map, index - 1);
  const cuts =
    comma === undefined && before !== undefined ? [{ start: before, end: before + 1, text: '' }] : [];
  if (hasCommentBefore(pair)) {
    // The comment needs its line break.
    const from = Math.max(lineStart(text, start), start - space);
    const rest = text.slice(behind, lineEnd(text, behind));
    return [...cuts, { start: from, end: rest.trim() === '' ? behind + rest.length : behind, text: '' }];
  }
  const from = Math.max(start - space, (before ?? open) + 1);
  if (cuts.length > 0 && from === (before ?? 0) + 1)
    return [{ start: before ?? from, end: behind, text: '' }];
  return [...cuts, { start: from, end: behind, text: '' }];
}

/** `enabled: false`, or as the file says that, before the other fields of an entry. */
export function switchOffInFlow(text: string, entry: YAMLMap, off: FilesWords['off']): Cut[] | Refusal {
  const [open = 0] = entry.range ?? [];
  const first = entry.items[0] as Pair | undefined;
  if (first === undefined) return { refusal: 'the entry is empty' };
  const at = startOf(first);
  const gap = text.slice(open + 1, at);
  const word = text[at] === '"' ? off.replace(/\w+/, '"$&"') : off;
  const space = gap.trim() !== '' ? ' ' : gap === '' ? ' ' : gap;
  return [{ start: at, end: at, text: `${word},${space}` }];
}

interface Layout {
  readonly isLines: boolean;
  /** Of a member. */
  readonly indent: string;
  readonly unit: string;
}

function layoutOf(text: string, map: YAMLMap): Layout {
  const [open = 0] = map.range ?? [];
  const outer = indentAt(text, open);
  const first = map.items[0] as Pair | undefined;
  if (first === undefined) {
    const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
    return { isLines: text.trimEnd().includes('\n') || outer !== '', indent: outer + unit, unit };
  }
  const at = startOf(first);
  if (!text.slice(open, at).includes('\n')) return { isLines: false, indent: outer, unit: '  ' };
  const indent = indentAt(text, at);
  const unit = indent.startsWith(outer) && indent !== outer ? indent.slice(outer.length) : '  ';
  return { isLines: true, indent, unit };
}

/** Where the comma behind a member stands. */
function commaBehind(map: YAMLMap, index: number): number | undefined {
  const tokens = (map as YAMLMap & { srcToken?: CST.FlowCollection }).srcToken?.items[index + 1]?.start;
  return tokens?.find(({ type }) => type === 'comma')?.offset;
}
