// Types of the tracker's document format, as far as comments use it; valid in the published schema. Text
// nodes are never empty, because the tracker refuses empty text.

export type Mark =
  | { readonly type: 'strong' | 'em' | 'strike' | 'code' }
  | { readonly type: 'link'; readonly attrs: { readonly href: string; readonly title?: string } };

export interface TextNode {
  readonly type: 'text';
  readonly text: string;
  readonly marks?: readonly Mark[];
}

export type InlineNode = TextNode | { readonly type: 'hardBreak' };

export interface Paragraph {
  readonly type: 'paragraph';
  readonly content: readonly InlineNode[];
}

interface Heading {
  readonly type: 'heading';
  readonly attrs: { readonly level: number };
  readonly content: readonly InlineNode[];
}

export interface DocumentCodeBlock {
  readonly type: 'codeBlock';
  readonly attrs?: { readonly language: string };
  readonly content: readonly TextNode[];
}

export interface ListItemNode {
  readonly type: 'listItem';
  readonly content: readonly ItemBlock[];
}

export interface BulletList {
  readonly type: 'bulletList';
  readonly content: readonly ListItemNode[];
}

export interface OrderedList {
  readonly type: 'orderedList';
  readonly attrs?: { readonly order: number };
  readonly content: readonly ListItemNode[];
}

export interface Blockquote {
  readonly type: 'blockquote';
  readonly content: readonly ItemBlock[];
}

export interface TaskItem {
  readonly type: 'taskItem';
  readonly attrs: { readonly localId: string; readonly state: 'TODO' | 'DONE' };
  readonly content: readonly InlineNode[];
}

export interface TaskList {
  readonly type: 'taskList';
  readonly attrs: { readonly localId: string };
  readonly content: readonly (TaskItem | TaskList)[];
}

export interface TableCell {
  readonly type: 'tableHeader' | 'tableCell';
  readonly content: readonly Paragraph[];
}

export interface DocumentTableRow {
  readonly type: 'tableRow';
  readonly content: readonly TableCell[];
}

export interface TableNode {
  readonly type: 'table';
  readonly content: readonly DocumentTableRow[];
}

/** Blocks that list items and quotations may contain. */
export type ItemBlock = Paragraph | DocumentCodeBlock | BulletList | OrderedList;

export type Block = ItemBlock | Heading | Blockquote | TaskList | TableNode | { readonly type: 'rule' };

export interface TrackerDocument {
  readonly version: 1;
  readonly type: 'doc';
  readonly content: readonly Block[];
}

/** Any node, for traversal. */
export type DocumentNode = Block | ListItemNode | TaskItem | DocumentTableRow | TableCell | InlineNode;

export const documentOf = (content: readonly Block[]): TrackerDocument => ({
  version: 1,
  type: 'doc',
  content,
});

export const paragraphOf = (content: readonly InlineNode[]): Paragraph => ({ type: 'paragraph', content });

/** Returns the visible text, line by line, without marks. */
export function plainText(node: { readonly type?: unknown } | TrackerDocument | DocumentNode): string {
  const { type, text, content } = node as {
    readonly type?: unknown;
    readonly text?: unknown;
    readonly content?: unknown;
  };
  if (type === 'hardBreak') return '\n';
  if (typeof text === 'string') return text;
  if (!Array.isArray(content)) return '';
  const isInline = type === 'paragraph' || type === 'heading' || type === 'codeBlock' || type === 'taskItem';
  return content.map((each: DocumentNode) => plainText(each)).join(isInline ? '' : '\n');
}
