// Makes a list item valid for strict clients, which reject a whole list for a single item: replaces lone
// surrogates, and repairs or removes wrong members (item-schema.ts). Valid items keep their bytes.
//
// The key of a repaired item is unchanged, so calls still reach the item.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { Draft, type Shape } from '../../jsonrpc/json-shape.ts';
import { whole } from '../../jsonrpc/span.ts';
import { withoutHalves } from '../../jsonrpc/well-formed.ts';
import { itemShapes } from './item-schema.ts';
import { itemJson, type ListItem, type ListKind, readItem } from './lists.ts';

export interface CheckedItem {
  /** Forms by the era of the client; the original item if it is valid. Undefined if omitted. */
  readonly forms: { readonly legacy: ListItem; readonly modern: ListItem } | undefined;
  /** Descriptions of the faults; empty for a valid item. */
  readonly faults: readonly string[];
}

/** Checks an item, and repairs it if its intent is plain. */
export function checkItem(kind: ListKind, item: ListItem): CheckedItem {
  const isAddress = kind === 'resources' || kind === 'resourceTemplates';
  const isKeySound = item.key.isWellFormed();
  // Merged lists replace names, but the server does not know a changed uri.
  if (isAddress && !isKeySound)
    return { forms: undefined, faults: ['its address holds half of a surrogate pair'] };
  const before = withoutHalves(item.before);
  const after = withoutHalves(item.after);
  const isWhole = before === item.before && after === item.after;
  const paired = isWhole ? item : { key: item.key, before, after };
  const faults = isWhole && isKeySound ? [] : ['it holds half of a surrogate pair'];
  // The shapes for legacy clients are stricter.
  if (itemShapes.legacy[kind].accepts(JSON.parse(itemJson(paired))))
    return { forms: { legacy: paired, modern: paired }, faults };
  const legacy = shaped(kind, paired, itemShapes.legacy[kind]);
  const modern = shaped(kind, paired, itemShapes.modern[kind]);
  const isListed = legacy.item !== undefined && modern.item !== undefined;
  return {
    forms: isListed ? { legacy: legacy.item, modern: modern.item } : undefined,
    faults: [...faults, ...legacy.faults],
  };
}

/** Applies the shape's edits; the item is undefined if the shape refuses it. */
function shaped(
  kind: ListKind,
  item: ListItem,
  shape: Shape,
): { readonly item: ListItem | undefined; readonly faults: readonly string[] } {
  const bytes = Buffer.from(itemJson(item), 'utf8');
  const draft = new Draft(bytes);
  const isKept = shape.repair(draft, { start: 0, end: bytes.length });
  if (!isKept) return { item: undefined, faults: draft.faults };
  if (draft.edits.length === 0) return { item, faults: draft.faults };
  const repaired = whole(applyEdits(bytes, draft.edits));
  return { item: readItem(new JsonScanner(repaired), kind), faults: draft.faults };
}
