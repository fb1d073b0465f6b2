// Views of journals for API clients, which poll them: the steps, and the progress of nodes and members.

import type { Redactor } from '../../base/errors/redact.ts';
import type { Store } from '../../store/store.ts';
import { JournalCache } from './journal-cache.ts';
import { PartsOfRun } from './part-progress.ts';
import type { StepView } from './step-shape.ts';
import { StepViews } from './step-view.ts';

export interface JournalView {
  readonly steps: StepView[];
  readonly parts: PartsOfRun;
}

interface ViewedJournal extends JournalView {
  readonly views: StepViews;
}

export class JournalViews {
  readonly #store: Pick<Store, 'steps'>;
  readonly #redactor: Redactor;
  #patternCount = 0;
  #cache: JournalCache<ViewedJournal> | undefined;

  constructor(store: Pick<Store, 'steps'>, redactor: Redactor) {
    this.#store = store;
    this.#redactor = redactor;
  }

  /** Returns the views of all rows; later calls extend them. Rejects with the store's error. */
  of(id: string): Promise<JournalView> {
    const { patternCount } = this.#redactor;
    // Cached views may contain credentials that a reload has added.
    if (patternCount !== this.#patternCount) this.#cache = undefined;
    this.#patternCount = patternCount;
    this.#cache ??= this.#createCache();
    return this.#cache.read(id);
  }

  #createCache(): JournalCache<ViewedJournal> {
    const excerpt = (text: string, maxChars: number) => this.#redactor.excerpt(text, maxChars);
    return new JournalCache<ViewedJournal>({
      store: this.#store,
      begin: () => ({ steps: [], parts: new PartsOfRun(excerpt), views: new StepViews(excerpt) }),
      add: ({ steps, parts, views }, step) => {
        steps.push(views.next(step));
        parts.add(step);
      },
    });
  }
}
