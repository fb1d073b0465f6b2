// Makes one item of a list valid for strict clients, which reject a whole list because of a single item: half of a
// surrogate pair is replaced, and wrong members are repaired or removed (item-schema.ts). Valid items stay byte for byte.
//
// ICH1  a repaired item has the key of the original, so that its server still finds what clients name.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { Draft, type Shape } from '../../jsonrpc/json-shape.ts';
import { whole } from '../../jsonrpc/span.ts';
import { withoutHalves } from '../../jsonrpc/well-formed.ts';
import { itemShapes } from './item-schema.ts';
import { itemJson, type ListItem, type ListKind, readItem } from './lists.ts';

export interface CheckedItem {
  /** Forms for clients of either era; the original where that is valid. Undefined: the item cannot be listed. */
  readonly forms: { readonly legacy: ListItem; readonly modern: ListItem } | undefined;
  /** Descriptions of what is wrong; empty for a valid item. */
  readonly faults: readonly string[];
}

/** Checks an item and repairs what can be repaired without a guess. */
export function checkItem(kind: ListKind, item: ListItem): CheckedItem {
  const isAddress = kind === 'resources' || kind === 'resourceTemplates';
  const isKeySound = item.key.isWellFormed();
  // A name is replaced in a merged list; a uri has to reach its server as it is.
  if (isAddress && !isKeySound)
    return { forms: undefined, faults: ['its address holds half of a surrogate pair'] };
  const before = withoutHalves(item.before);
  const after = withoutHalves(item.after);
  const isWhole = before === item.before && after === item.after;
  const paired = isWhole ? item : { key: item.key, before, after };
  const faults = isWhole && isKeySound ? [] : ['it holds half of a surrogate pair'];
  // The shapes for legacy clients are the stricter ones.
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

/** The item with the edits of a shape; undefined where the shape refuses it. */
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
