// How a call goes on, and what it came to. All of it is text that strangers have written; only pictures and sounds are more.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownPart, ShownProgress, ShownResult } from '../../wire/tool-wire.ts';
import { visible, visibleName } from '../visible-text.ts';
import { counted, ms } from '../words.ts';
import type { EndedCall, RunningCall, ToolBench } from './tool-bench.ts';

const TICK_MS = 500;

export function ToolOutcome({ bench }: { readonly bench: ToolBench }) {
  const { running, last } = bench;
  const section = useRef<HTMLElement>(null);
  const wasRunning = useRef(running !== undefined);
  const isRunning = running !== undefined;
  useEffect(() => {
    // Below a long form nobody would see that something has begun, or has ended.
    if (wasRunning.current !== isRunning) section.current?.scrollIntoView({ block: 'nearest' });
    wasRunning.current = isRunning;
  }, [isRunning]);
  return (
    <section class="outcome" aria-label="Result" ref={section}>
      <p class="headline" role="status">
        {running !== undefined ? runningText(running) : last !== undefined && <Headline last={last} />}
      </p>
      {running !== undefined && <Running running={running} />}
      {last !== undefined && typeof last.end !== 'string' && last.end.result !== null && (
        <Result result={last.end.result} />
      )}
    </section>
  );
}

function runningText({ tool, progress, isCancelled }: RunningCall): string {
  const name = visibleName(tool);
  if (isCancelled) return `Cancelling ${name} …`;
  return `Calling ${name} …${progress === undefined ? '' : ` ${progressText(progress)}`}`;
}

function progressText({ progress, total, message }: ShownProgress): string {
  const far = progress === null ? [] : [total === null ? `${progress}` : `${progress} of ${total}`];
  return [...far, ...(message === null ? [] : [visible(message)])].join(': ');
}

function Running({ running: { since, progress } }: { readonly running: RunningCall }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const isKnown = progress?.progress != null && progress.total !== null && progress.total > 0;
  return (
    <p>
      {isKnown ? (
        <progress aria-label="Progress" value={progress.progress ?? 0} max={progress.total ?? 1} />
      ) : (
        <progress aria-label="Progress" />
      )}{' '}
      <span class="aside">{Math.max(0, Math.floor((now - since) / 1000))} s</span>
    </p>
  );
}

function Headline({ last: { tool, end } }: { readonly last: EndedCall }) {
  const name = <strong>{visibleName(tool)}</strong>;
  if (typeof end === 'string')
    return (
      <>
        {name}: <span class="problem">{visible(end)}</span>
      </>
    );
  const { problem, result } = end;
  const took = `took ${ms(end.ms)}`;
  if (problem !== null)
    return (
      <>
        {name}: <span class="problem">error {visible(`${problem.code}: ${problem.message}`)}</span>{' '}
        <span class="aside">{took}</span>
      </>
    );
  return (
    <>
      {name}:{' '}
      {result?.is_error === true ? (
        <span class="problem">the tool says that it has failed</span>
      ) : (
        <span class="answered">answered</span>
      )}{' '}
      <span class="aside">
        {took}
        {result !== null && `, ${counted(result.parts.length, 'part')}`}
      </span>
    </>
  );
}

function Result({ result }: { readonly result: ShownResult }) {
  const { parts, structured, is_error } = result;
  return (
    <div class={is_error ? 'result failed' : 'result'}>
      {parts.map((part, at) => (
        <Part key={at} part={part} />
      ))}
      {structured !== null && (
        <>
          <h3>Structured content</h3>
          <Text text={structured} />
        </>
      )}
      {parts.length === 0 && structured === null && <p class="aside">The result has nothing in it.</p>}
    </div>
  );
}

function Text({ text }: { readonly text: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
  return <pre tabIndex={0}>{visible(text)}</pre>;
}

function Part({ part }: { readonly part: ShownPart }) {
  switch (part.kind) {
    case 'text':
      return <Text text={part.text} />;
    case 'image':
      return <img src={`data:${part.type};base64,${part.data}`} alt={`What the tool gives, ${part.type}`} />;
    case 'audio':
      return (
        // biome-ignore lint/a11y/useMediaCaption: there are none
        <audio
          controls
          src={`data:${part.type};base64,${part.data}`}
          aria-label={`What the tool gives, ${part.type}`}
        />
      );
    case 'link':
      return (
        <p>
          Link to a resource: <strong>{visibleName(part.name, 500)}</strong>{' '}
          <code>{visibleName(part.uri, 2_000)}</code>{' '}
          {part.type !== '' && <span class="aside">{visibleName(part.type)}</span>}
          {part.description !== '' && <span class="said aside"> {visible(part.description)}</span>}
        </p>
      );
    case 'resource':
      return (
        <>
          <p>
            Resource <code>{visibleName(part.uri, 2_000)}</code>{' '}
            {part.type !== '' && <span class="aside">{visibleName(part.type)}</span>}
          </p>
          <Text text={part.text} />
        </>
      );
    case 'note':
      return <p class="aside">({visible(part.text)})</p>;
  }
}
