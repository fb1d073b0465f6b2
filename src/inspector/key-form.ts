// Handles the key form: sets the cookie and redirects to the requested view. If the key is wrong, it sends
// the form again, for the same view.

import type { ExchangeContext } from '../http/mcp/exchange-context.ts';
import type { RequestAudit } from '../http/request-audit.ts';
import type { InspectorAccess } from './access.ts';
import type { PageFiles } from './page-files.ts';
import { securityHeaders } from './response-headers.ts';

const MAX_FORM_BYTES = 16_384;
/** The overview, relative to the paths of this form. */
const HOME = '../inspector';

export class KeyForm {
  readonly #access: InspectorAccess;
  readonly #files: PageFiles;

  constructor(access: InspectorAccess, files: PageFiles) {
    this.#access = access;
    this.#files = files;
  }

  /** Handles the form. `body` is undefined if it is too large. */
  enter(
    context: ExchangeContext,
    body: Buffer | undefined,
    audit?: Pick<RequestAudit, 'recordSignIn'>,
  ): void {
    const text = body === undefined || body.length > MAX_FORM_BYTES ? undefined : body.toString('utf8');
    const form = new URLSearchParams(text);
    const cookie = this.#access.cookieFor(form.get('key') ?? '');
    const view = validView(form.get('view') ?? '') ?? viewFromReferer(context.request.headers.referer);
    if (cookie !== undefined) redirect(context, cookie, view ?? HOME);
    else {
      audit?.recordSignIn(context, 'forbidden');
      void this.#wrongKey(context, view);
    }
  }

  /** Deletes the cookie. */
  leave(context: ExchangeContext): void {
    redirect(context, this.#access.noCookie, HOME);
  }

  /** Sends the form again, with the view in a hidden field, because the referrer is now the form itself. */
  async #wrongKey(context: ExchangeContext, view: string | undefined): Promise<void> {
    const field =
      view === undefined ? '' : `<input type="hidden" name="view" value="${escapeAttribute(view)}">`;
    await this.#files.send(context, 403, 'key-wrong.html', (html) =>
      html.replace('<!-- view -->', () => field),
    );
  }
}

function redirect(context: ExchangeContext, cookie: string, location: string): void {
  context.reply.send(303, [...securityHeaders, ['set-cookie', cookie], ['location', location]]);
}

/** Returns the view at whose address the form was displayed. */
function viewFromReferer(referer = ''): string | undefined {
  // A proxy may add a prefix.
  return validView(/^https?:\/\/[^/]+(?:\/.*)?\/inspector\/(view\/.*)$/.exec(referer)?.[1] ?? '');
}

/** Returns undefined for paths that are not views, relative to the inspector. */
function validView(path: string): string | undefined {
  return /^view\/[\w%.~!*'()/-]{1,500}(\?[\w%.~!*'()+=&-]{0,500})?$/.test(path) ? path : undefined;
}

/** Escapes view paths for attributes; `&` is the only special character in them. */
const escapeAttribute = (path: string) => path.replaceAll('&', '&amp;');
