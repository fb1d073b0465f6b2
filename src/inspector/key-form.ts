// The form that asks for the key: takes what was entered, and leads to the view that was wanted, after a wrong key too.

import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { InspectorAccess } from './access.ts';
import { securityHeaders } from './answer-headers.ts';
import type { PageFiles } from './page-files.ts';

/** A key is a line of text. */
const MAX_FORM_BYTES = 16_384;

export class KeyForm {
  readonly #access: InspectorAccess;
  readonly #files: PageFiles;

  constructor(access: InspectorAccess, files: PageFiles) {
    this.#access = access;
    this.#files = files;
  }

  /** The form as it was sent; undefined where it was too large. */
  enter(context: ExchangeContext, body: Buffer | undefined): void {
    const text = body === undefined || body.length > MAX_FORM_BYTES ? undefined : body.toString('utf8');
    const form = new URLSearchParams(text);
    const cookie = this.#access.cookieFor(form.get('key') ?? '');
    const view = viewOf(form.get('view') ?? '') ?? viewIn(context.request.headers.referer);
    if (cookie === undefined) void this.#wrongKey(context, view);
    else lead(context, cookie, view ?? '/inspector');
  }

  /** Takes the cookie away. */
  leave(context: ExchangeContext): void {
    lead(context, this.#access.noCookie, '/inspector');
  }

  /** The form once more. It comes from another address than the first one did, so that it must know itself which view was wanted. */
  async #wrongKey(context: ExchangeContext, view: string | undefined): Promise<void> {
    const field = view === undefined ? '' : `<input type="hidden" name="view" value="${escaped(view)}">`;
    await this.#files.send(context, 403, 'key-wrong.html', (html) =>
      html.replace('<!-- view -->', () => field),
    );
  }
}

function lead(context: ExchangeContext, cookie: string, location: string): void {
  context.reply.send(303, [...securityHeaders, ['set-cookie', cookie], ['location', location]]);
}

/** The view that the key was asked for: whoever follows a link to it gets there. */
function viewIn(referer = ''): string | undefined {
  return viewOf(/^https?:\/\/[^/]+(\/.*)$/.exec(referer)?.[1] ?? '');
}

/** A path that is one of a view. */
function viewOf(path: string): string | undefined {
  return /^\/inspector\/view\/[\w%.~!*'()/-]{1,500}(\?[\w%.~!*'()+=&-]{0,500})?$/.test(path)
    ? path
    : undefined;
}

/** Such a path as the value of an attribute: of what means something in HTML it has only this. */
const escaped = (path: string) => path.replaceAll('&', '&amp;');
