// Foot of a list with pages: number of entries, and links to the newest and the next older page.

import type { Go } from './feed/hooks.ts';
import { pluralize } from './format.ts';
import { Link, type LinkProps } from './link.tsx';

interface PageFootProps {
  readonly count: number;
  /** Singular noun of an entry. */
  readonly noun: string;
  readonly isFiltered: boolean;
  readonly isNewest: boolean;
  /** Begin of the next older page; null on the last page. */
  readonly nextBefore: number | null;
  /** Returns the view of a page; '' for the newest. */
  pageAt(before: string): LinkProps['to'];
  readonly go: Go;
}

export function PageFoot({ count, noun, isFiltered, isNewest, nextBefore, pageAt, go }: PageFootProps) {
  return (
    <p class="foot pages">
      {pluralize(count, noun)}
      {isFiltered && ' match the filter'}
      {!isNewest && (
        <Link to={pageAt('')} go={go}>
          Newest
        </Link>
      )}
      {nextBefore !== null && (
        <Link to={pageAt(`${nextBefore}`)} go={go}>
          Older
        </Link>
      )}
    </p>
  );
}
