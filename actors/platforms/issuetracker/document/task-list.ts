// Converts a list into a task list, if every item begins with a checkbox, `[ ]` or `[x]`. In other lists the
// boxes are text.

import { createHash } from 'node:crypto';
import { textNode } from './inline-nodes.ts';
import type { BulletList, InlineNode, ListItemNode, TaskItem, TaskList } from './nodes.ts';

const BOX = /^\[([ xX])\](?: +|$)/;

/** Generates task ids: unique in a text, and equal each time the text is rendered. */
export class TaskIds {
  readonly #textDigest: string;
  #count = 0;

  constructor(text: string) {
    this.#textDigest = digest(text);
  }

  next(): string {
    this.#count += 1;
    return digest(`${this.#count} ${this.#textDigest}`).slice(0, 32);
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** Returns the task list; undefined unless every item begins with a checkbox. */
export function taskListOf({ content }: BulletList, ids: TaskIds): TaskList | undefined {
  const items: (TaskItem | TaskList)[] = [];
  for (const item of content) {
    const tasks = tasksOf(item, ids);
    if (tasks === undefined) return undefined;
    items.push(...tasks);
  }
  return { type: 'taskList', attrs: { localId: ids.next() }, content: items };
}

/** Returns the task, followed by the list of its subtasks. */
function tasksOf(
  { content: [head, below, ...more] }: ListItemNode,
  ids: TaskIds,
): readonly (TaskItem | TaskList)[] | undefined {
  if (head?.type !== 'paragraph' || more.length > 0) return undefined;
  const [first, ...rest] = head.content;
  const [box, sign] = (first?.type === 'text' && first.marks === undefined && BOX.exec(first.text)) || [];
  if (first?.type !== 'text' || box === undefined) return undefined;
  const text = first.text.slice(box.length);
  const content: readonly InlineNode[] = [...(text === '' ? [] : [textNode(text)]), ...rest];
  const state = sign === ' ' ? 'TODO' : 'DONE';
  const task: TaskItem = { type: 'taskItem', attrs: { localId: ids.next(), state }, content };
  if (below === undefined) return [task];
  const list = below.type === 'bulletList' ? taskListOf(below, ids) : undefined;
  return list === undefined ? undefined : [task, list];
}
