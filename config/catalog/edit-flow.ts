// Edits servers in flow mappings (`{ … }`), such as JSON. New members are written as JSON, on separate lines
// if the existing members are on separate lines.

import type { CST, Pair, YAMLMap } from 'yaml';
import {
  type EditRefusal,
  endOf,
  hasCommentBefore,
  indentAt,
  lineBreakOf,
  lineEnd,
  lineStart,
  startOf,
  type TextReplacement,
} from './catalog-text.ts';
import type { FileFormat } from './dialects/export-entry.ts';

/** Appends a member, or replaces the value of the existing member `replaced`. */
export function addToFlow(
  text: string,
  map: YAMLMap,
  replaced: Pair | undefined,
  name: string,
  value: unknown,
): TextReplacement[] {
  const [open = 0, close = 0] = map.range ?? [];
  const eol = lineBreakOf(text);
  const { isMultiline, indent, unit } = layoutOf(text, map);
  const json = (between: string) =>
    JSON.stringify(value, undefined, isMultiline ? unit : undefined).replaceAll('\n', eol + between);
  if (replaced !== undefined) {
    const [start = 0, end = 0] = (replaced.value as { range?: [number, number] } | null)?.range ?? [];
    return [{ start, end, text: json(indentAt(text, startOf(replaced))) }];
  }
  const member = `${JSON.stringify(name)}: ${json(indent)}`;
  const last = map.items.at(-1) as Pair | undefined;
  if (last === undefined) {
    const inner = text.slice(open + 1, close - 1);
    // The mapping contains only comments. The member is added after them.
    if (inner.trim() !== '')
      return [{ start: close - 1, end: close - 1, text: `${member}${isMultiline ? eol : ''}` }];
    const [before, after] = isMultiline ? [eol + indent, eol + indentAt(text, open)] : ['', ''];
    return [{ start: open + 1, end: close - 1, text: `${before}${member}${after}` }];
  }
  const end = endOf(last);
  /** Trailing comma of the mapping, if any. */
  const comma = commaAfter(map, map.items.length - 1);
  if (!isMultiline) {
    if (comma !== undefined) return [{ start: comma + 1, end: comma + 1, text: ` ${member},` }];
    return [{ start: end, end, text: `, ${member}` }];
  }
  const afterComma = (comma ?? end - 1) + 1;
  const rest = text.slice(afterComma, lineEnd(text, afterComma));
  // A comment after the last member stays behind this member.
  const at = /^[ \t]*(?:#.*)?\r?\n$/.test(rest) ? afterComma + rest.trimEnd().length : afterComma;
  const line = `${eol}${indent}${member}${comma === undefined ? '' : ','}`;
  if (comma !== undefined) return [{ start: at, end: at, text: line }];
  if (at === end) return [{ start: end, end, text: `,${line}` }];
  return [
    { start: end, end, text: ',' },
    { start: at, end: at, text: line },
  ];
}

export function removeFromFlow(text: string, map: YAMLMap, pair: Pair): TextReplacement[] {
  const [open = 0, close = 0] = map.range ?? [];
  const index = map.items.indexOf(pair as (typeof map.items)[number]);
  const start = startOf(pair);
  const end = endOf(pair);
  const comma = commaAfter(map, index);
  const afterComma = (comma ?? end - 1) + 1;
  if (map.items.length === 1) {
    // A mapping without comments becomes `{}`.
    const isAlone = (text.slice(open + 1, start) + text.slice(afterComma, close - 1)).trim() === '';
    return [isAlone ? { start: open + 1, end: close - 1, text: '' } : { start, end: afterComma, text: '' }];
  }
  // A member before others is removed with its comma and the white space up to the next member.
  if (index < map.items.length - 1) {
    const space = /^\s*/.exec(text.slice(afterComma))?.[0].length ?? 0;
    return [{ start, end: afterComma + space, text: '' }];
  }
  // The last member is removed with the white space before it. Without a trailing comma, the comma of the
  // previous member is removed too.
  const space = /\s*$/.exec(text.slice(open + 1, start))?.[0].length ?? 0;
  const before = commaAfter(map, index - 1);
  const replacements =
    comma === undefined && before !== undefined ? [{ start: before, end: before + 1, text: '' }] : [];
  if (hasCommentBefore(pair)) {
    // Keep the line break after the comment, so that the next member does not become a part of the comment.
    const from = Math.max(lineStart(text, start), start - space);
    const rest = text.slice(afterComma, lineEnd(text, afterComma));
    return [
      ...replacements,
      { start: from, end: rest.trim() === '' ? afterComma + rest.length : afterComma, text: '' },
    ];
  }
  const from = Math.max(start - space, (before ?? open) + 1);
  // Two adjacent replacements are joined.
  if (replacements.length > 0 && from === (before ?? 0) + 1)
    return [{ start: before ?? from, end: afterComma, text: '' }];
  return [...replacements, { start: from, end: afterComma, text: '' }];
}

/** Inserts `enabled: false`, or the file's equivalent, as the entry's first field. */
export function switchOffInFlow(
  text: string,
  entry: YAMLMap,
  disablingLine: FileFormat['disablingLine'],
): TextReplacement[] | EditRefusal {
  const [open = 0] = entry.range ?? [];
  const first = entry.items[0] as Pair | undefined;
  if (first === undefined) return { refusal: 'the entry is empty' };
  const at = startOf(first);
  const gap = text.slice(open + 1, at);
  // The key gets quotes if the first key has quotes, as in JSON.
  const field = text[at] === '"' ? disablingLine.replace(/\w+/, '"$&"') : disablingLine;
  // The white space before the first member is repeated. A gap with a comment is not.
  const space = gap.trim() !== '' ? ' ' : gap === '' ? ' ' : gap;
  return [{ start: at, end: at, text: `${field},${space}` }];
}

interface Layout {
  readonly isMultiline: boolean;
  /** Indentation of the members. */
  readonly indent: string;
  /** Indentation per level. */
  readonly unit: string;
}

function layoutOf(text: string, map: YAMLMap): Layout {
  const [open = 0] = map.range ?? [];
  const outer = indentAt(text, open);
  const first = map.items[0] as Pair | undefined;
  if (first === undefined) {
    // An empty mapping has no layout of its own, so it gets the layout of the file.
    const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
    return { isMultiline: text.trimEnd().includes('\n') || outer !== '', indent: outer + unit, unit };
  }
  const at = startOf(first);
  if (!text.slice(open, at).includes('\n')) return { isMultiline: false, indent: outer, unit: '  ' };
  const indent = indentAt(text, at);
  const unit = indent.startsWith(outer) && indent !== outer ? indent.slice(outer.length) : '  ';
  return { isMultiline: true, indent, unit };
}

/** Returns the position of the comma after a member. */
function commaAfter(map: YAMLMap, index: number): number | undefined {
  const tokens = (map as YAMLMap & { srcToken?: CST.FlowCollection }).srcToken?.items[index + 1]?.start;
  return tokens?.find(({ type }) => type === 'comma')?.offset;
}
