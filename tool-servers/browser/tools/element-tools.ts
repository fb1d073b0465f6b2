// Tools that act on one element: click, hover, fill, select.

import { z } from 'zod';
import { defineTool, type ServerTool, type ServerToolCall, type ServerToolHints } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { truncate } from '../pages/console-log.ts';
import type { BrowserStep, Session } from '../session.ts';
import { actOn, type ElementFacts, findElement, type MatchedElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MAX_VALUE_CHARS = 1_000_000;
/** Input types that are clicked rather than filled. */
const CLICKED_TYPES = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image'];

/** Input types with a fixed value format. */
const FORMATTED_TYPES = ['date', 'time', 'datetime-local', 'month', 'week', 'number', 'color', 'range'];

/** The effect depends on the page: a click may buy or delete something. */
const ACTION_HINTS: ServerToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

export function elementTools(session: Session): ServerTool[] {
  const act = async (
    call: ServerToolCall,
    selector: string,
    work: (step: BrowserStep, element: MatchedElement) => Promise<string>,
  ) => {
    const result = await session.step(call, async (step) => work(step, await findElement(step, selector)));
    const report = await reportOf(session);
    return { text: `${result}\n${reportText(report)}`, structured: report };
  };

  return [
    defineTool({
      name: 'browser_click',
      title: 'Click an element',
      description:
        'Clicks the first visible element that matches, after scrolling it into view. Waits up to 5 s until it exists and ' +
        'is usable, then up to 10 s for a navigation caused by the click. Returns the current page, and the ' +
        'dialogs (dismissed), downloads (not saved) and new pages it caused.',
      input: z.strictObject({ selector: selectorSchema }),
      output: pageReportSchema,
      hints: ACTION_HINTS,
      run: ({ selector }, call) =>
        act(call, selector, async (step, element) => {
          if (element.facts.tag === 'option')
            throw new ToolError('Options of a list cannot be clicked. Use browser_select on their <select>.');
          await actOn(step, element, 'clicked', (locator, bounds) => locator.click(bounds));
          return `Clicked ${element.label}.`;
        }),
    }),
    defineTool({
      name: 'browser_hover',
      title: 'Hover over an element',
      description:
        'Moves the mouse over the first visible element that matches, for menus and tooltips. Waits up to 5 s for it. ' +
        'The mouse stays there until the next action.',
      input: z.strictObject({ selector: selectorSchema }),
      output: pageReportSchema,
      hints: { ...ACTION_HINTS, destructiveHint: false, idempotentHint: true },
      run: ({ selector }, call) =>
        act(call, selector, async (step, element) => {
          await actOn(step, element, 'hovered over', (locator, bounds) => locator.hover(bounds));
          return `The mouse is over ${element.label}.`;
        }),
    }),
    defineTool({
      name: 'browser_fill',
      title: 'Fill in a field',
      description:
        'Replaces the content of a text field, text area, date or similar field, or an editable element; an empty value ' +
        'clears it. Triggers input and change events. Does not press Enter or submit. Use browser_select for lists and ' +
        'browser_click for checkboxes and buttons. Write dates as 2026-12-31 and times as 23:59.',
      input: z.strictObject({
        selector: selectorSchema,
        value: z.string().max(MAX_VALUE_CHARS).describe('New content'),
      }),
      output: pageReportSchema,
      hints: { ...ACTION_HINTS, idempotentHint: true },
      run: ({ selector, value }, call) =>
        act(call, selector, async (step, element) => {
          assertFillable(element);
          await actOn(step, element, 'filled in', (locator, bounds) => locator.fill(value, bounds));
          await assertAccepted(step, element, value);
          return `Filled in ${element.label} with ${value.length} characters.`;
        }),
    }),
    defineTool({
      name: 'browser_select',
      title: 'Choose from a list',
      description:
        'Selects an option of a <select> list by its value attribute (not its visible text), and triggers input and ' +
        'change events. For an unknown value the error lists the available ones. For lists that a page builds ' +
        'from other elements use browser_click.',
      input: z.strictObject({
        selector: selectorSchema,
        value: z.string().max(MAX_VALUE_CHARS).describe('Value of the option'),
      }),
      output: pageReportSchema,
      hints: { ...ACTION_HINTS, idempotentHint: true },
      run: ({ selector, value }, call) =>
        act(call, selector, async (step, element) => {
          const label = labelOfOption(element, value);
          await actOn(step, element, 'changed', (locator, bounds) => locator.selectOption({ value }, bounds));
          return `Chose "${label}" (value ${value}) in ${element.label}.`;
        }),
    }),
  ];
}

function assertFillable({ facts, label }: MatchedElement): void {
  const { tag, type, isEditable } = facts;
  if (tag === 'select') throw new ToolError(`${label} is a list: use browser_select.`);
  if (tag === 'input' && type === 'file')
    throw new ToolError(`${label} is a file upload field. Uploads are not supported.`);
  if (tag === 'input' && CLICKED_TYPES.includes(type))
    throw new ToolError(`${label} is a ${type}: use browser_click.`);
  if (tag !== 'input' && tag !== 'textarea' && !isEditable)
    throw new ToolError(`${label} is not a field. Pass the selector of the <input> or <textarea> itself.`);
}

/**
 * Throws a ToolError if a field with a fixed format rejected the value: it then stays empty, or contains the
 * nearest valid value.
 */
async function assertAccepted(
  step: BrowserStep,
  { locator, facts, label }: MatchedElement,
  value: string,
): Promise<void> {
  if (facts.tag !== 'input' || !FORMATTED_TYPES.includes(facts.type)) return;
  const actual = await locator.inputValue({ timeout: step.callTimeoutMs, signal: step.signal });
  if (actual === value.trim()) return;
  throw new ToolError(
    `${label} is a field of type ${facts.type} and does not accept ${JSON.stringify(truncate(value, 100))}; it now ` +
      `contains ${JSON.stringify(truncate(actual, 100))}.`,
  );
}

/** Returns the label of the option with this value. Throws a ToolError if it cannot be selected. */
function labelOfOption({ facts, label }: MatchedElement, value: string): string {
  const { tag, options, optionCount } = facts;
  if (tag !== 'select')
    throw new ToolError(`${label} is not a <select> list. Use browser_click for lists of other elements.`);
  const option = options.find((each) => each.value === value);
  if (option?.isDisabled) throw new ToolError(`The option ${value} of ${label} is disabled.`);
  if (option !== undefined) return option.label;
  if (optionCount > options.length) return value;
  throw new ToolError(`${label} has no option with the value ${JSON.stringify(value)}. ${valuesOf(options)}`);
}

function valuesOf(options: ElementFacts['options']): string {
  if (options.length === 0) return 'The list is empty; it may still be loading.';
  const labels = options.map(({ value, label }) => `${JSON.stringify(value)} (${label})`);
  return `Its values are: ${labels.join(', ')}.`;
}
