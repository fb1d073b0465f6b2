// How tools find the element that a model means: by CSS selector, or by a reference from the last snapshot. Of several the
// first visible one is taken, and the answer says how many there are.

import type { Locator, Page } from 'playwright-core';
import { z } from 'zod';
import { ToolError } from '../../tool-error.ts';
import { cut } from '../pages/console-log.ts';
import { failureOf, isTimeout, obstacleOf } from '../pages/playwright-failure.ts';
import type { Step } from '../session.ts';

const MAX_ELEMENT_MS = 5_000;
const MAX_SELECTOR_CHARS = 2000;
const MAX_OPTIONS = 50;
const MAX_FACT_CHARS = 80;
const MAX_OPTION_CHARS = 200;

export const selectorSchema = z
  .string()
  .min(1)
  .max(MAX_SELECTOR_CHARS)
  .describe(
    'CSS selector, such as #id, .class, button[type="submit"], ul > li:nth-child(2); it reaches into open shadow roots. ' +
      'Or a reference from the last browser_snapshot, such as ref=e12; that also reaches into frames.',
  );

export interface FoundElement {
  readonly locator: Locator;
  /** What it is, such as `<button#go> "Save"`, and which of how many. */
  readonly words: string;
  readonly facts: ElementFacts;
}

/** What the page says of an element; every text is cut there. */
export interface ElementFacts {
  readonly tag: string;
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly isEditable: boolean;
  readonly options: readonly { value: string; label: string; isDisabled: boolean }[];
  readonly optionCount: number;
}

/** The little of the DOM that is looked at; the rest of this program knows of none. */
interface PageElement {
  readonly localName: string;
  readonly id: string;
  readonly type?: string;
  readonly innerText?: string;
  readonly isContentEditable?: boolean;
  readonly options?: Iterable<{ value: string; label: string; disabled: boolean }>;
  getAttribute(name: string): string | null;
}

/** Runs in the page: it may use nothing but its arguments. */
function factsOf(element: PageElement, maxOptions: number): ElementFacts {
  const short = (text: unknown) =>
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 80);
  const options = element.localName === 'select' ? Array.from(element.options ?? []) : [];
  return {
    tag: short(element.localName),
    id: short(element.id),
    type: short(element.type),
    text: short(element.getAttribute('aria-label') || element.innerText || element.getAttribute('name')),
    isEditable: element.isContentEditable === true,
    options: options.slice(0, maxOptions).map((option) => ({
      value: String(option.value).slice(0, 200),
      label: short(option.label),
      isDisabled: option.disabled,
    })),
    optionCount: options.length,
  };
}

/** The page runs `factsOf`, with functions that it may have replaced: its word on how long a text is counts for nothing. */
function boundedFacts(said: ElementFacts): ElementFacts {
  const { tag, id, type, text, isEditable, options, optionCount } = said;
  const short = (given: unknown) => String(given).slice(0, MAX_FACT_CHARS);
  return {
    tag: short(tag),
    id: short(id),
    type: short(type),
    text: short(text),
    isEditable: isEditable === true,
    options: [...options].slice(0, MAX_OPTIONS).map(({ value, label, isDisabled }) => ({
      value: String(value).slice(0, MAX_OPTION_CHARS),
      label: short(label),
      isDisabled: isDisabled === true,
    })),
    optionCount: Number(optionCount),
  };
}

/** How long an element may take to appear, and then to become usable. */
function elementMs({ stepMs }: Step): number {
  return Math.min(MAX_ELEMENT_MS, stepMs / 3);
}

/** @throws ToolError when the selector is none, or nothing matches it in time */
export async function findElement(step: Step, selector: string): Promise<FoundElement> {
  const all = locatorOf(step.page, selector);
  const { signal } = step;
  const timeout = elementMs(step);
  try {
    await all.first().waitFor({ state: 'attached', timeout, signal });
  } catch (error) {
    if (!isTimeout(error)) throw failureOf(error);
    throw new ToolError(
      selector.startsWith('ref=')
        ? `There is no ${selector} on the page (any more). Take a new browser_snapshot and use its references.`
        : `No element matches ${selector} on ${cut(step.page.url(), 300)} (waited ${timeout / 1000} s). ` +
            'browser_snapshot shows what is on the page; browser_wait_for waits longer.',
    );
  }
  const count = await all.count();
  const visible = all.filter({ visible: true });
  const locator = count > 1 && (await visible.count()) > 0 ? visible.first() : all.first();
  const facts = boundedFacts(
    await locator.evaluate<ElementFacts, number, PageElement>(factsOf, MAX_OPTIONS, { timeout, signal }),
  );
  const name = `<${facts.tag}${facts.id === '' ? '' : `#${facts.id}`}>${facts.text === '' ? '' : ` "${facts.text}"`}`;
  return { locator, facts, words: count > 1 ? `${name} (the first of ${count} matches)` : name };
}

/**
 * What a selector means, found or not.
 * @throws ToolError when it is more than CSS
 */
export function locatorOf(page: Page, selector: string): Locator {
  const ref = /^(?:aria-)?ref=((?:f\d+)?e\d+)$/.exec(selector.trim())?.[1];
  if (ref !== undefined) return page.getByRef(ref);
  // Outside of strings `>>` is no CSS: it would hand the rest to another of Playwright's engines.
  const outside = selector.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '');
  if (outside.includes('>>') || /^\s*(xpath=|text=|css=|role=|\/\/)/i.test(selector))
    throw new ToolError(
      `Selectors are plain CSS (such as #id or .class > a) or references from browser_snapshot (ref=e12); ${selector} is neither.`,
    );
  return page.locator(`css=${selector}`);
}

/**
 * Does something with an element that is found, as soon as it is usable.
 * @throws ToolError that says what stands in the way
 */
export async function actOn(
  step: Step,
  { locator, words }: FoundElement,
  verb: string,
  act: (locator: Locator, bounds: { timeout: number; signal: AbortSignal }) => Promise<unknown>,
): Promise<void> {
  const timeout = elementMs(step);
  try {
    await act(locator, { timeout, signal: step.signal });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new ToolError(`${words} cannot be ${verb}: ${obstacleOf(error)} (waited ${timeout / 1000} s).`);
  }
}
