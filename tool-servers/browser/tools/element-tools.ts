// The tools that use one element of the page as a person would: click, hover, fill, select.

import { z } from 'zod';
import { defineTool, type Tool, type ToolCall, type ToolHints } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { cut } from '../pages/console-log.ts';
import type { Session, Step } from '../session.ts';
import { actOn, type ElementFacts, type FoundElement, findElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_VALUE_CHARS = 1_000_000;
/** Input types whose value is typed; the others are clicked, or not for us. */
const CLICKED_TYPES = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image'];

/** Input types that take only values of their own form. */
const FORMED_TYPES = ['date', 'time', 'datetime-local', 'month', 'week', 'number', 'color', 'range'];

/** What an action does is up to the page: a click may buy or delete something. */
const ACTS: ToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** `browser_click`, `browser_hover`, `browser_fill` and `browser_select`. */
export function elementTools(session: Session): Tool[] {
  const act = async (
    call: ToolCall,
    selector: string,
    work: (step: Step, found: FoundElement) => Promise<string>,
  ) => {
    const done = await session.step(call, async (step) => work(step, await findElement(step, selector)));
    const report = await reportOf(session);
    return { text: `${done}\n${reportText(report)}`, structured: report };
  };

  return [
    defineTool({
      name: 'browser_click',
      title: 'Click an element',
      description:
        'Clicks the first visible element that matches, after scrolling it into view. Waits up to 5 s for it to appear and ' +
        'to be usable, then up to 10 s for a page that the click leads to. Says where the browser is afterwards, and which ' +
        'dialogs (dismissed), downloads (not saved) and new pages it led to.',
      input: z.strictObject({ selector: selectorSchema }),
      output: pageReportSchema,
      hints: ACTS,
      run: ({ selector }, call) =>
        act(call, selector, async (step, found) => {
          if (found.facts.tag === 'option')
            throw new ToolError(
              'Options of a list are chosen with browser_select on their <select>, not by clicking.',
            );
          await actOn(step, found, 'clicked', (locator, bounds) => locator.click(bounds));
          return `Clicked ${found.words}.`;
        }),
    }),
    defineTool({
      name: 'browser_hover',
      title: 'Hover over an element',
      description:
        'Moves the mouse over the first visible element that matches, as menus and tooltips need. Waits up to 5 s for it. ' +
        'The mouse stays there until the next action.',
      input: z.strictObject({ selector: selectorSchema }),
      output: pageReportSchema,
      hints: { ...ACTS, destructiveHint: false, idempotentHint: true },
      run: ({ selector }, call) =>
        act(call, selector, async (step, found) => {
          await actOn(step, found, 'hovered over', (locator, bounds) => locator.hover(bounds));
          return `The mouse is over ${found.words}.`;
        }),
    }),
    defineTool({
      name: 'browser_fill',
      title: 'Fill in a field',
      description:
        'Replaces the content of a text field, text area, date or similar field, or an editable element; an empty value ' +
        'clears it. The page gets input and change events. Does not press Enter or submit. Lists take browser_select, ' +
        'checkboxes and buttons browser_click. Dates are written as 2026-12-31, times as 23:59.',
      input: z.strictObject({
        selector: selectorSchema,
        value: z.string().max(MAX_VALUE_CHARS).describe('The new content'),
      }),
      output: pageReportSchema,
      hints: { ...ACTS, idempotentHint: true },
      run: ({ selector, value }, call) =>
        act(call, selector, async (step, found) => {
          checkFillable(found);
          await actOn(step, found, 'filled in', (locator, bounds) => locator.fill(value, bounds));
          await checkTaken(step, found, value);
          return `Filled in ${found.words} with ${value.length} characters.`;
        }),
    }),
    defineTool({
      name: 'browser_select',
      title: 'Choose from a list',
      description:
        'Chooses the option of a <select> list whose value attribute is given (not its visible text), and sends input and ' +
        'change events. When there is no such option, the error lists the values there are. For lists that a page builds ' +
        'from other elements use browser_click.',
      input: z.strictObject({
        selector: selectorSchema,
        value: z.string().max(MAX_VALUE_CHARS).describe('The value of the option'),
      }),
      output: pageReportSchema,
      hints: { ...ACTS, idempotentHint: true },
      run: ({ selector, value }, call) =>
        act(call, selector, async (step, found) => {
          const label = checkOption(found, value);
          await actOn(step, found, 'changed', (locator, bounds) => locator.selectOption({ value }, bounds));
          return `Chose "${label}" (value ${value}) in ${found.words}.`;
        }),
    }),
  ];
}

function checkFillable({ facts, words }: FoundElement): void {
  const { tag, type, isEditable } = facts;
  if (tag === 'select') throw new ToolError(`${words} is a list: use browser_select.`);
  if (tag === 'input' && type === 'file')
    throw new ToolError(`${words} takes a file. Files cannot be given to pages.`);
  if (tag === 'input' && CLICKED_TYPES.includes(type))
    throw new ToolError(`${words} is a ${type}: use browser_click.`);
  if (tag !== 'input' && tag !== 'textarea' && !isEditable)
    throw new ToolError(`${words} is no field. Give the selector of the <input> or <textarea> itself.`);
}

/** A field with a form of its own stays empty, or takes the nearest value, when it does not like what it is given. */
async function checkTaken(step: Step, { locator, facts, words }: FoundElement, value: string): Promise<void> {
  if (facts.tag !== 'input' || !FORMED_TYPES.includes(facts.type)) return;
  const taken = await locator.inputValue({ timeout: step.stepMs, signal: step.signal });
  if (taken === value.trim()) return;
  throw new ToolError(
    `${words} is a field of type ${facts.type} and does not take ${JSON.stringify(cut(value, 100))}; it holds ` +
      `${JSON.stringify(cut(taken, 100))} now.`,
  );
}

/** The label of the option with that value. */
function checkOption({ facts, words }: FoundElement, value: string): string {
  const { tag, options, optionCount } = facts;
  if (tag !== 'select')
    throw new ToolError(`${words} is no <select> list. Lists of other elements are used with browser_click.`);
  const option = options.find((each) => each.value === value);
  if (option?.isDisabled) throw new ToolError(`The option ${value} of ${words} is disabled.`);
  if (option !== undefined) return option.label;
  if (optionCount > options.length) return value;
  throw new ToolError(`${words} has no option with the value ${JSON.stringify(value)}. ${valuesOf(options)}`);
}

function valuesOf(options: ElementFacts['options']): string {
  if (options.length === 0) return 'The list is empty; it may still be loading.';
  const named = options.map(({ value, label }) => `${JSON.stringify(value)} (${label})`);
  return `Its values are: ${named.join(', ')}.`;
}
