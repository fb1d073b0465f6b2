// Makes a list item valid for strict clients, which reject a whole list because of one invalid item: replaces
// lone surrogates (halves of a character in UTF-16), and repairs or removes invalid members (item-schema.ts).
// Valid items remain unchanged, byte for byte. A repaired item keeps its key, so calls still reach it.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { RepairDraft, type Shape } from '../../jsonrpc/json-shape.ts';
import { replaceLoneSurrogates } from '../../jsonrpc/lone-surrogates.ts';
import { toBuffer } from '../../jsonrpc/span.ts';
import { itemShapes } from './item-schema.ts';
import { itemJson, type ListItem, type ListKind, readItem } from './lists.ts';

export interface CheckedItem {
  /**
   * The item for clients of each protocol era (sessions; stateless requests); the original item if valid.
   * Undefined if omitted.
   */
  readonly forms: { readonly legacy: ListItem; readonly modern: ListItem } | undefined;
  /** Descriptions of the faults; empty for a valid item. */
  readonly faults: readonly string[];
}

/** Checks an item and repairs it if possible. */
export function checkItem(kind: ListKind, item: ListItem): CheckedItem {
  const isAddress = kind === 'resources' || kind === 'resourceTemplates';
  const isKeySound = item.key.isWellFormed();
  // A repaired name is no problem, because merged lists rename items. But the server would not recognise a
  // changed URI.
  if (isAddress && !isKeySound)
    return { forms: undefined, faults: ['its address contains a lone surrogate'] };
  const before = replaceLoneSurrogates(item.before);
  const after = replaceLoneSurrogates(item.after);
  const isWhole = before === item.before && after === item.after;
  const paired = isWhole ? item : { key: item.key, before, after };
  const faults = isWhole && isKeySound ? [] : ['it contains a lone surrogate'];
  // An item that is valid for legacy clients is also valid for modern clients.
  if (itemShapes.legacy[kind].accepts(JSON.parse(itemJson(paired))))
    return { forms: { legacy: paired, modern: paired }, faults };
  const legacy = applyShape(kind, paired, itemShapes.legacy[kind]);
  const modern = applyShape(kind, paired, itemShapes.modern[kind]);
  const isListed = legacy.item !== undefined && modern.item !== undefined;
  return {
    forms: isListed ? { legacy: legacy.item, modern: modern.item } : undefined,
    faults: [...faults, ...legacy.faults],
  };
}

/** Repairs the item for a shape (jsonrpc/json-shape.ts). Returns no item if the shape rejects it. */
function applyShape(
  kind: ListKind,
  item: ListItem,
  shape: Shape,
): { readonly item: ListItem | undefined; readonly faults: readonly string[] } {
  const bytes = Buffer.from(itemJson(item), 'utf8');
  const draft = new RepairDraft(bytes);
  const isAccepted = shape.repair(draft, { start: 0, end: bytes.length });
  if (!isAccepted) return { item: undefined, faults: draft.faults };
  if (draft.edits.length === 0) return { item, faults: draft.faults };
  const repaired = toBuffer(applyEdits(bytes, draft.edits));
  return { item: readItem(new JsonScanner(repaired), kind), faults: draft.faults };
}
