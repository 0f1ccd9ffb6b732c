import { pageOf, policyOf, type View } from './frame.ts'
import type { SignedIn } from './session.ts'
import type { Shown } from './visit.ts'

const headers = {
  'Content-Security-Policy': policyOf(),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** Whom a page is for: nobody while `signedIn` is null; a cookie goes with it where it is new. */
export type Audience = { readonly signedIn: SignedIn | null; readonly csrf: string; readonly cookie?: string }

const withCookie = ({ cookie }: Pick<Audience, 'cookie'>): Readonly<Record<string, string>> =>
  cookie === undefined ? {} : { 'Set-Cookie': cookie }

const htmlAnswer = (body: string, status: number, audience: Pick<Audience, 'cookie'>, images?: View['images']): Response => {
  const policy = images === undefined ? {} : { 'Content-Security-Policy': policyOf(images) }
  return new Response(body, {
    status,
    headers: { ...headers, ...policy, 'Content-Type': 'text/html; charset=utf-8', ...withCookie(audience) },
  })
}

export const pageAnswer = (view: View, path: string, audience: Audience): Response =>
  htmlAnswer(pageOf(view, path, audience.csrf, audience.signedIn), view.status ?? 200, audience, view.images)

/** Lead the browser to another page of the console. */
export const redirect = (to: string, audience: Pick<Audience, 'cookie'> = {}): Response =>
  new Response(null, { status: 303, headers: { ...headers, Location: to, ...withCookie(audience) } })

/** Answer a visit. */
export const answerOf = (shown: Shown, path: string, audience: Audience): Response => {
  if ('to' in shown) return redirect(shown.to)
  return 'fragment' in shown ? htmlAnswer(shown.fragment.markup, 200, {}) : pageAnswer(shown, path, audience)
}

/** A file of the console, as the browser may keep it for an hour. */
export const fileAnswer = (body: string, mediaType: string): Response =>
  new Response(body, { headers: { ...headers, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' } })
