// A text to be copied. Where the browser does not let a page write to the clipboard, as on an address without TLS, the text is selected instead.

import { useRef, useState } from 'preact/hooks';

interface CopyTextProps {
  /** What it is, for who does not see it. */
  readonly label: string;
  readonly text: string;
}

export function CopyText({ label, text }: CopyTextProps) {
  const shown = useRef<HTMLPreElement>(null);
  // What was said of another text is shown no longer.
  const [told, setTold] = useState({ of: text, words: '' });
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setTold({ of: text, words: 'Copied' });
    } catch {
      if (shown.current !== null) {
        getSelection()?.selectAllChildren(shown.current);
        shown.current.focus();
      }
      setTold({ of: text, words: 'Selected: copy it with Ctrl+C, or ⌘C' });
    }
  };
  return (
    <section class="copy-text" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <pre tabIndex={0} ref={shown}>
        {text}
      </pre>
      <p class="commands">
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <span class="told" role="status">
          {told.of === text ? told.words : ''}
        </span>
      </p>
    </section>
  );
}
