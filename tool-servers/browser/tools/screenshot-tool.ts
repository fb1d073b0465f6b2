// browser_screenshot: a screenshot as image content and as a resource.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import { type Screenshot, screenshotUri } from '../pages/screenshots.ts';
import type { BrowserStep, Session } from '../session.ts';
import { actOn, findElement, selectorSchema } from './element.ts';
import { pageReportSchema, reportOf, reportText } from './page-report.ts';

const MIN_SIDE_PX = 16;
const MAX_SIDE_PX = 4096;
/** Limit for an element screenshot, which includes parts outside the viewport. */
const MAX_PIXELS = 16_000_000;
/** Maximum side length that the graphics stack can draw. */
const MAX_ELEMENT_SIDE_PX = 16_384;
/** Larger PNG images are captured again as JPEG, because MCP clients often limit messages to 10 MB. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
const JPEG_QUALITY = 80;
const MAX_NAME_CHARS = 100;

const sizeSchema = z.number().int().min(MIN_SIDE_PX).max(MAX_SIDE_PX).optional();

/** `store` saves a screenshot and returns the names of removed screenshots. */
export function screenshotTool(session: Session, store: (shot: Screenshot) => string[]): ServerTool {
  return defineTool({
    name: 'browser_screenshot',
    title: 'Take a screenshot',
    description:
      'Takes a screenshot of the visible part of the current page, or of one element (scrolled into view, even if larger than ' +
      'the viewport). Returns it as an image and keeps the newest 50 images (64 MB) as resources screenshot://<name>; ' +
      `an existing name is replaced. width and height change the viewport (${MIN_SIDE_PX} to ${MAX_SIDE_PX} pixels, initially 1280 by ` +
      '800) permanently. PNG, or JPEG for large images. To find elements use browser_snapshot.',
    input: z.strictObject({
      name: z.string().min(1).max(MAX_NAME_CHARS).describe('Name of the screenshot'),
      selector: selectorSchema.optional(),
      width: sizeSchema.describe('Viewport width in pixels'),
      height: sizeSchema.describe('Viewport height in pixels'),
    }),
    output: pageReportSchema.extend({
      uri: z.string().describe('Resource URI of the image'),
      mimeType: z.enum(['image/png', 'image/jpeg']),
      width: z.number().int().describe('Image width in pixels'),
      height: z.number().int().describe('Image height in pixels'),
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
          return await captureWithinLimit(step, selector);
        },
        { isReadOnly: true },
      );
      const pageUrl = session.current?.url() ?? 'about:blank';
      const shot: Screenshot = { name, ...picture, pageUrl, at: new Date() };
      const removedNames = store(shot);
      const report = await reportOf(session);
      const uri = screenshotUri(name);
      const removedText =
        removedNames.length === 0 ? '' : `\nRemoved: ${removedNames.map(screenshotUri).join(', ')}`;
      return {
        text: `Screenshot ${uri}: ${shot.width} by ${shot.height} pixels, ${shot.mimeType}.${removedText}\n${reportText(report)}`,
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

async function captureWithinLimit(step: BrowserStep, selector: string | undefined): Promise<Picture> {
  const png = await capture(step, selector, 'png');
  // The size is in the header chunk, which is always first.
  const size = { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  if (png.length <= MAX_IMAGE_BYTES) return { mimeType: 'image/png', data: png, ...size };
  const jpeg = await capture(step, selector, 'jpeg');
  if (jpeg.length > MAX_IMAGE_BYTES)
    throw new ToolError(
      `The image has ${size.width} by ${size.height} pixels and ${jpeg.length} bytes; the limit is ${MAX_IMAGE_BYTES} bytes. ` +
        'Use a smaller viewport or element.',
    );
  return { mimeType: 'image/jpeg', data: jpeg, ...size };
}

async function capture(
  step: BrowserStep,
  selector: string | undefined,
  type: 'png' | 'jpeg',
): Promise<Buffer> {
  const { page, signal, callTimeoutMs } = step;
  const options = { type, scale: 'css', signal, ...(type === 'jpeg' && { quality: JPEG_QUALITY }) } as const;
  if (selector === undefined) return await page.screenshot({ ...options, timeout: callTimeoutMs });
  const element = await findElement(step, selector);
  const box = await element.locator.boundingBox({ timeout: callTimeoutMs, signal });
  if (
    box !== null &&
    (box.width * box.height > MAX_PIXELS || Math.max(box.width, box.height) > MAX_ELEMENT_SIDE_PX)
  )
    throw new ToolError(
      `${element.label} has ${Math.round(box.width)} by ${Math.round(box.height)} pixels; the limits are ${MAX_PIXELS} in total and ` +
        `${MAX_ELEMENT_SIDE_PX} per side. Choose a smaller element, or omit the selector for the ` +
        'visible part of the page.',
    );
  if (box !== null && (box.width < 1 || box.height < 1))
    throw new ToolError(`${element.label} has no size on the page, so no screenshot is possible.`);
  let picture: Buffer = Buffer.alloc(0);
  await actOn(step, element, 'shown', async (locator, bounds) => {
    picture = await locator.screenshot({ ...options, ...bounds });
  });
  return picture;
}
