// browser_screenshot: the picture of the page as a person would see it, as image content and as a resource.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { type Screenshot, screenshotUri } from '../pages/screenshots.ts';
import type { Session, Step } from '../session.ts';
import { actOn, findElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MIN_SIDE_PX = 16;
const MAX_SIDE_PX = 4096;
/** Of an element, which may be far larger than what is shown of it. */
const MAX_PIXELS = 16_000_000;
/** What graphics can draw in one piece. */
const MAX_ELEMENT_SIDE_PX = 16_384;
/** Beyond it a PNG is taken again as JPEG: a message of an MCP client is often bounded at 10 MB. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const JPEG_QUALITY = 80;
const MAX_NAME_CHARS = 100;

const sideSchema = z.number().int().min(MIN_SIDE_PX).max(MAX_SIDE_PX).optional();

/** `browser_screenshot`; what it takes is handed to `keep`. */
export function screenshotTool(session: Session, keep: (shot: Screenshot) => string[]): Tool {
  return defineTool({
    name: 'browser_screenshot',
    title: 'Take a screenshot',
    description:
      'Takes a picture of what the current page shows, or of one element (scrolled into view, also where it is larger than ' +
      'the viewport). Returns it as an image and keeps it as the resource screenshot://<name> until 50 pictures or 64 MB are ' +
      `newer; the same name replaces. width and height set the viewport (${MIN_SIDE_PX} to ${MAX_SIDE_PX} pixels, first 1280 by ` +
      '800), which stays so. PNG, or JPEG when that would be too large. Only shows: to find elements use browser_snapshot.',
    input: z.strictObject({
      name: z.string().min(1).max(MAX_NAME_CHARS).describe('A name for the picture'),
      selector: selectorSchema.optional(),
      width: sideSchema.describe('Width of the viewport in pixels'),
      height: sideSchema.describe('Height of the viewport in pixels'),
    }),
    output: pageReportSchema.extend({
      uri: z.string().describe('The resource that holds the picture'),
      mimeType: z.enum(['image/png', 'image/jpeg']),
      width: z.number().int().describe('Of the picture, in pixels'),
      height: z.number().int().describe('Of the picture, in pixels'),
      bytes: z.number().int(),
    }),
    hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: async ({ name, selector, width, height }, call) => {
      const picture = await session.step(
        call,
        async (step) => {
          const { page } = step;
          const viewport = page.viewportSize() ?? { width: 1280, height: 800 };
          if (width !== undefined || height !== undefined)
            await page.setViewportSize({ width: width ?? viewport.width, height: height ?? viewport.height });
          return await pictureOf(step, selector);
        },
        { isLook: true },
      );
      const pageUrl = session.current?.url() ?? 'about:blank';
      const shot: Screenshot = { name, ...picture, pageUrl, at: new Date() };
      const dropped = keep(shot);
      const report = await reportOf(session);
      const uri = screenshotUri(name);
      const gone = dropped.length === 0 ? '' : `\nNo longer kept: ${dropped.map(screenshotUri).join(', ')}`;
      return {
        text: `Screenshot ${uri}: ${shot.width} by ${shot.height} pixels, ${shot.mimeType}.${gone}\n${reportText(report)}`,
        structured: {
          ...report,
          uri,
          mimeType: shot.mimeType,
          width: shot.width,
          height: shot.height,
          bytes: shot.data.length,
        },
        content: [{ type: 'image', data: shot.data.toString('base64'), mimeType: shot.mimeType }],
      };
    },
  });
}

type Picture = Pick<Screenshot, 'mimeType' | 'data' | 'width' | 'height'>;

async function pictureOf(step: Step, selector: string | undefined): Promise<Picture> {
  const png = await take(step, selector, 'png');
  // The size stands in the header chunk, which is always the first.
  const size = { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  if (png.length <= MAX_IMAGE_BYTES) return { mimeType: 'image/png', data: png, ...size };
  const jpeg = await take(step, selector, 'jpeg');
  if (jpeg.length > MAX_IMAGE_BYTES)
    throw new ToolError(
      `The picture has ${size.width} by ${size.height} pixels and ${jpeg.length} bytes, more than ${MAX_IMAGE_BYTES}. ` +
        'Take a smaller viewport or a smaller element.',
    );
  return { mimeType: 'image/jpeg', data: jpeg, ...size };
}

async function take(step: Step, selector: string | undefined, type: 'png' | 'jpeg'): Promise<Buffer> {
  const { page, signal, stepMs } = step;
  const how = { type, scale: 'css', signal, ...(type === 'jpeg' && { quality: JPEG_QUALITY }) } as const;
  if (selector === undefined) return await page.screenshot({ ...how, timeout: stepMs });
  const found = await findElement(step, selector);
  const box = await found.locator.boundingBox({ timeout: stepMs, signal });
  if (
    box !== null &&
    (box.width * box.height > MAX_PIXELS || Math.max(box.width, box.height) > MAX_ELEMENT_SIDE_PX)
  )
    throw new ToolError(
      `${found.words} has ${Math.round(box.width)} by ${Math.round(box.height)} pixels; at most ${MAX_PIXELS} in all, and ` +
        `${MAX_ELEMENT_SIDE_PX} each way, can be taken. Choose a smaller element, or leave the selector out for what the ` +
        'viewport shows.',
    );
  if (box !== null && (box.width < 1 || box.height < 1))
    throw new ToolError(`${found.words} has no size on the page: there is nothing to take a picture of.`);
  let picture: Buffer = Buffer.alloc(0);
  await actOn(step, found, 'shown', async (locator, bounds) => {
    picture = await locator.screenshot({ ...how, ...bounds });
  });
  return picture;
}
