// `npm run try -- model`: a server that speaks the OpenAI protocol on this machine, for whoever has neither a key nor a model server.
// It is no model: stand-in-rules.ts says what it answers. Each question is told here, so that people see what is asked, and how often.

import { once } from 'node:events';
import { columnsOf, paintFor } from '../../src/terminal/paint.ts';
import { printable } from '../../src/terminal/terminal-text.ts';
import { ModelServer } from '../../test/fixtures/models/model-server.ts';
import { inALine, newestWords, type Question, standIn } from './stand-in-rules.ts';

/** Gives the exit code, when it was told to end. */
export async function serveModel(port: number, signal: AbortSignal): Promise<number> {
  const paint = paintFor(process.stdout, process.env);
  const write = (...lines: readonly string[]) => void process.stdout.write(`${lines.join('\n')}\n`);
  await using server = await ModelServer.start(port);
  server.answerWith(({ body }, n) => {
    const question = body as Question;
    const answer = standIn(question);
    const line = (text: string) => printable(text).slice(0, columnsOf(process.stdout) - 3);
    write(
      `${paint('faint', String(n))} ${line(newestWords(question))}`,
      `  ${paint('faint', line(inALine(answer)))}`,
    );
    return answer;
  });
  write(
    paint('strong', `A stand-in for a model, at ${server.url}/v1`),
    'It speaks the OpenAI protocol and follows three rules: it is no model. In another terminal:',
    '  MODEL=local:stand-in node dist/main.js --config examples/assistant-automation.yaml',
    'Each question that it is asked is shown here. Ctrl-C ends it.',
    '',
  );
  if (!signal.aborted) await once(signal, 'abort');
  return 0;
}
