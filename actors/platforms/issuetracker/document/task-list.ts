// A list whose items all begin with a box, `[ ]` or `[x]`, is one of tasks, which people tick where they read it. Any other stays
// as it is, its boxes in words.

import { createHash } from 'node:crypto';
import { textNode } from './inline-nodes.ts';
import type { BulletList, InlineNode, ListItem, TaskItem, TaskList } from './nodes.ts';

const BOX = /^\[([ xX])\](?: +|$)/;

/** Tasks are told apart by names, which differ from text to text and are the same each time one is rendered. */
export class TaskNames {
  readonly #ofText: string;
  #count = 0;

  constructor(text: string) {
    this.#ofText = digest(text);
  }

  next(): string {
    this.#count += 1;
    return digest(`${this.#count} ${this.#ofText}`).slice(0, 32);
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** Undefined for a list of anything else. */
export function taskListOf({ content }: BulletList, names: TaskNames): TaskList | undefined {
  const items: (TaskItem | TaskList)[] = [];
  for (const item of content) {
    const tasks = tasksOf(item, names);
    if (tasks === undefined) return undefined;
    items.push(...tasks);
  }
  return { type: 'taskList', attrs: { localId: names.next() }, content: items };
}

/** A task, and behind it those that stand below it. */
function tasksOf(
  { content: [head, below, ...more] }: ListItem,
  names: TaskNames,
): readonly (TaskItem | TaskList)[] | undefined {
  if (head?.type !== 'paragraph' || more.length > 0) return undefined;
  const [first, ...rest] = head.content;
  const [box, sign] = (first?.type === 'text' && first.marks === undefined && BOX.exec(first.text)) || [];
  if (first?.type !== 'text' || box === undefined) return undefined;
  const text = first.text.slice(box.length);
  const content: readonly InlineNode[] = [...(text === '' ? [] : [textNode(text)]), ...rest];
  const state = sign === ' ' ? 'TODO' : 'DONE';
  const task: TaskItem = { type: 'taskItem', attrs: { localId: names.next(), state }, content };
  if (below === undefined) return [task];
  const list = below.type === 'bulletList' ? taskListOf(below, names) : undefined;
  return list === undefined ? undefined : [task, list];
}
