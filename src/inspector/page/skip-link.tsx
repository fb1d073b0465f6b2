// The first thing that the keyboard reaches: past the header and the banners, to what the page shows.

/** Of the element with what the page shows; it has to be one that can have the focus. */
export const CONTENT = 'content';

export function SkipLink() {
  return (
    <a class="skip" href={`#${CONTENT}`}>
      Skip to the content
    </a>
  );
}
