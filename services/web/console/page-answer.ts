import type { PageResult } from './console-request.ts'
import { contentSecurityPolicy, type PageView, pageDocument } from './page-frame.ts'
import type { ConsoleSession } from './session.ts'

const headers = {
  'Content-Security-Policy': contentSecurityPolicy(),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** Whom a page is for: nobody while `signedIn` is null; a cookie goes with it where it is new. */
export type PageAudience = { readonly session: ConsoleSession | null; readonly csrf: string; readonly cookie?: string }

const withCookie = ({ cookie }: Pick<PageAudience, 'cookie'>): Readonly<Record<string, string>> =>
  cookie === undefined ? {} : { 'Set-Cookie': cookie }

const htmlAnswer = (
  body: string,
  status: number,
  audience: Pick<PageAudience, 'cookie'>,
  images?: PageView['images'],
): Response => {
  const policy = images === undefined ? {} : { 'Content-Security-Policy': contentSecurityPolicy(images) }
  return new Response(body, {
    status,
    headers: { ...headers, ...policy, 'Content-Type': 'text/html; charset=utf-8', ...withCookie(audience) },
  })
}

export const pageAnswer = (view: PageView, path: string, audience: PageAudience): Response =>
  htmlAnswer(pageDocument(view, path, audience.csrf, audience.session), view.status ?? 200, audience, view.images)

/** Lead the browser to another page of the console. */
export const redirect = (to: string, audience: Pick<PageAudience, 'cookie'> = {}): Response =>
  new Response(null, { status: 303, headers: { ...headers, Location: to, ...withCookie(audience) } })

/** Answer a visit. */
export const answerResult = (result: PageResult, path: string, audience: PageAudience): Response => {
  if ('to' in result) return redirect(result.to)
  return 'fragment' in result ? htmlAnswer(result.fragment.markup, 200, {}) : pageAnswer(result, path, audience)
}

/** A file of the console, as the browser may keep it for an hour. */
export const fileAnswer = (body: string, mediaType: string): Response =>
  new Response(body, { headers: { ...headers, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' } })
