// Locates elements by CSS selector, or by reference from the last snapshot. If several elements match, the
// first visible one is used, and the label contains the number of matches.

import type { Locator, Page } from 'playwright-core';
import { z } from 'zod';
import { ToolError } from '../../tool-error.ts';
import { truncate } from '../pages/console-log.ts';
import { isTimeout, obstacleOf, toToolError } from '../pages/playwright-failure.ts';
import type { BrowserStep } from '../session.ts';

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
    'CSS selector, such as #id, .class, button[type="submit"], ul > li:nth-child(2); includes open shadow roots. ' +
      'Or a reference from the last browser_snapshot, such as ref=e12; includes frames.',
  );

export interface MatchedElement {
  readonly locator: Locator;
  /** Description such as `<button#go> "Save"`, with the number of matches. */
  readonly label: string;
  readonly facts: ElementFacts;
}

/** Properties of an element, reported by the page with truncated texts. */
export interface ElementFacts {
  readonly tag: string;
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly isEditable: boolean;
  readonly options: readonly { value: string; label: string; isDisabled: boolean }[];
  readonly optionCount: number;
}

/** DOM members that `factsOf` uses; this project compiles without DOM types. */
interface PageElement {
  readonly localName: string;
  readonly id: string;
  readonly type?: string;
  readonly innerText?: string;
  readonly isContentEditable?: boolean;
  readonly options?: Iterable<{ value: string; label: string; disabled: boolean }>;
  getAttribute(name: string): string | null;
}

/** Runs in the page, so it cannot use constants or functions of this file. */
function factsOf(element: PageElement, maxOptions: number): ElementFacts {
  const shorten = (text: unknown) =>
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 80);
  const options = element.localName === 'select' ? Array.from(element.options ?? []) : [];
  return {
    tag: shorten(element.localName),
    id: shorten(element.id),
    type: shorten(element.type),
    text: shorten(element.getAttribute('aria-label') || element.innerText || element.getAttribute('name')),
    isEditable: element.isContentEditable === true,
    options: options.slice(0, maxOptions).map((option) => ({
      value: String(option.value).slice(0, 200),
      label: shorten(option.label),
      isDisabled: option.disabled,
    })),
    optionCount: options.length,
  };
}

/**
 * Truncates all texts again. The page may have replaced the functions used by `factsOf`, so its result is not
 * trusted.
 */
function boundFacts(facts: ElementFacts): ElementFacts {
  const { tag, id, type, text, isEditable, options, optionCount } = facts;
  const shorten = (value: unknown) => String(value).slice(0, MAX_FACT_CHARS);
  return {
    tag: shorten(tag),
    id: shorten(id),
    type: shorten(type),
    text: shorten(text),
    isEditable: isEditable === true,
    options: [...options].slice(0, MAX_OPTIONS).map(({ value, label, isDisabled }) => ({
      value: String(value).slice(0, MAX_OPTION_CHARS),
      label: shorten(label),
      isDisabled: isDisabled === true,
    })),
    optionCount: Number(optionCount),
  };
}

/** Returns the time limit until an element appears, and again until it is usable. */
function elementMs({ callTimeoutMs }: BrowserStep): number {
  return Math.min(MAX_ELEMENT_MS, callTimeoutMs / 3);
}

/** Locates an element. Throws a ToolError if the selector is invalid or no element matches in time. */
export async function findElement(step: BrowserStep, selector: string): Promise<MatchedElement> {
  const all = locatorOf(step.page, selector);
  const { signal } = step;
  const timeout = elementMs(step);
  try {
    await all.first().waitFor({ state: 'attached', timeout, signal });
  } catch (error) {
    if (!isTimeout(error)) throw toToolError(error);
    throw new ToolError(
      selector.startsWith('ref=')
        ? `${selector} is not on the page. Call browser_snapshot again and use its references.`
        : `No element matches ${selector} on ${truncate(step.page.url(), 300)} (waited ${(timeout / 1000).toFixed(1)} s). ` +
            'browser_snapshot shows what is on the page; browser_wait_for waits longer.',
    );
  }
  const count = await all.count();
  const visible = all.filter({ visible: true });
  const locator = count > 1 && (await visible.count()) > 0 ? visible.first() : all.first();
  const facts = boundFacts(
    await locator.evaluate<ElementFacts, number, PageElement>(factsOf, MAX_OPTIONS, { timeout, signal }),
  );
  const name = `<${facts.tag}${facts.id === '' ? '' : `#${facts.id}`}>${facts.text === '' ? '' : ` "${facts.text}"`}`;
  return { locator, facts, label: count > 1 ? `${name} (the first of ${count} matches)` : name };
}

/**
 * Converts a selector to a Playwright locator.
 * @throws ToolError if the selector is not plain CSS
 */
export function locatorOf(page: Page, selector: string): Locator {
  const ref = /^(?:aria-)?ref=((?:f\d+)?e\d+)$/.exec(selector.trim())?.[1];
  if (ref !== undefined) return page.getByRef(ref);
  // Outside strings, `>>` is not CSS: Playwright would pass the rest to another selector engine.
  const outside = selector.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '');
  if (outside.includes('>>') || /^\s*(xpath=|text=|css=|role=|\/\/)/i.test(selector))
    throw new ToolError(
      `${selector} is neither plain CSS (such as #id or .class > a) nor a reference from browser_snapshot (ref=e12).`,
    );
  return page.locator(`css=${selector}`);
}

/**
 * Runs `act` on an element. Playwright waits until the element is usable.
 * @throws ToolError with the obstacle, at the time limit
 */
export async function actOn(
  step: BrowserStep,
  { locator, label }: MatchedElement,
  verb: string,
  act: (locator: Locator, bounds: { timeout: number; signal: AbortSignal }) => Promise<unknown>,
): Promise<void> {
  const timeout = elementMs(step);
  try {
    await act(locator, { timeout, signal: step.signal });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    throw new ToolError(
      `${label} cannot be ${verb}: ${obstacleOf(error)} (waited ${(timeout / 1000).toFixed(1)} s).`,
    );
  }
}
