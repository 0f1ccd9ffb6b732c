import { imageSources } from '../contract/registry/account-brand.ts'
import { brand } from '../web/ui-kit/frame.ts'
import { asMarkup, type Content, type Html, html } from '../web/ui-kit/html.ts'
import { type ApiCall, apiRequests, partRequests } from './kit/api-requests.ts'
import type { TableView } from './kit/data-table.ts'
import { doneNotice } from './kit/done-notice.ts'
import type { LastAction, Undo } from './kit/last-action.ts'
import { navigationButton, searchForm } from './navigation.ts'
import { type ConsoleSession, cookieFor, sessionSeconds } from './session.ts'

/**
 * Content of a page. `hasCharts` loads the chart script; `images` are addresses of images on other hosts. `tables` can
 * be downloaded as CSV.
 */
export type PageView = {
  readonly title: string
  readonly body: Html
  readonly status?: number
  readonly hasCharts?: boolean
  readonly images?: readonly (string | null)[]
  readonly tables?: readonly TableView[]
}

/**
 * Result of a route: a page, a part of a page, or the path of a redirect. A part can show its requests to the API. `sessionToken` replaces the session of the
 * browser; null ends it. The next page offers `undo`.
 */
export type PageResult =
  | PageView
  | { readonly fragment: Html; readonly tables?: readonly TableView[]; readonly showsRequests?: boolean }
  | { readonly to: string; readonly sessionToken?: string | null; readonly undo?: Undo }

/** Allow scripts and styles of this service, and images of the given hosts. Inline scripts and styles are refused. */
export const contentSecurityPolicy = (images: readonly (string | null)[] = []): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    imageSources(images),
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** Show the mode of the session. */
export const modeBadge = ({ liveMode }: Pick<ConsoleSession, 'liveMode'>): Html =>
  liveMode ? html`<span class="mode live">Live mode</span>` : html`<span class="mode test">Test mode</span>`

/** Create a form. Its session token protects against other sites, and its id against sending it twice. */
export const form = (csrf: string, action: string, content: Content, className = 'form'): Html =>
  html`<form class="${className}" method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="form" value="${crypto.randomUUID()}">${content}</form>`

export const signOutPath = '/console/sign-out'

const signOutForm = (csrf: string): Html =>
  form(csrf, signOutPath, html`<button class="quiet" type="submit">Sign out</button>`, 'inline')

const headerOf = (session: ConsoleSession, csrf: string, query: URLSearchParams): Html =>
  html`<header class="bar">${navigationButton}${brand}${modeBadge(session)}${searchForm(query.get('query') ?? '')}
<span class="account">${session.accountId}</span>${
    session.user === null ? null : html`<a href="/console/me">${session.user.address}</a>`
  }${signOutForm(csrf)}</header>`

/** Button that restores the state before the last action. */
const undoForm = (csrf: string, undo: Undo | null): Html | null => {
  if (undo === null) return null
  const fields = Object.entries(undo.fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return form(csrf, undo.action, html`${fields}<button class="quiet" type="submit">Undo this change</button>`, 'undo')
}

const chartFiles = html`<link rel="stylesheet" href="/console/assets/uplot.css">
<script src="/console/assets/uplot.js" defer></script>`

const anonymousHeader = html`<header class="bar">${brand}<span class="place">Console</span></header>`

const noQuery = new URLSearchParams()

/** Create the document of a page. Without a session it has no navigation. */
const pageDocument = (
  view: PageView,
  { csrf, session, navigation, query = noQuery, calls = [], last = null }: PageAudience,
): Html =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${view.title} · Wattledger console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/page.css">
${view.hasCharts === true ? chartFiles : null}
<script src="/console/assets/page.js" defer></script>
</head>
<body class="console">
<a class="skip" href="#content">Skip to content</a>
${session === null ? anonymousHeader : headerOf(session, csrf, query)}
<div class="${session === null ? 'alone' : 'with-places'}">${navigation?.()}
<main id="content" tabindex="-1">${(view.status ?? 200) < 400 ? doneNotice(query) : null}${undoForm(csrf, last?.undo ?? null)}${view.body}${apiRequests(calls, last?.calls)}</main></div>
</body>
</html>
`

const headers = {
  'Content-Security-Policy': contentSecurityPolicy(),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/**
 * Receiver of a page: `session` is null before the sign-in; `cookie` is a new cookie; `calls` are the requests of the
 * page to the API. `last` is the action that led to the page.
 */
type PageAudience = (
  | { readonly session: ConsoleSession; readonly navigation: () => Html }
  | { readonly session: null; readonly navigation?: null }
) & {
  readonly csrf: string
  readonly cookie?: string
  readonly query?: URLSearchParams
  readonly calls?: readonly ApiCall[]
  readonly last?: LastAction | null
  readonly isHttps?: boolean
}

const withCookie = ({ cookie }: Pick<PageAudience, 'cookie'>): Readonly<Record<string, string>> =>
  cookie === undefined ? {} : { 'Set-Cookie': cookie }

const htmlAnswer = (
  body: Html,
  status: number,
  audience: Pick<PageAudience, 'cookie'>,
  images?: PageView['images'],
): Response => {
  const policy = images === undefined ? {} : { 'Content-Security-Policy': contentSecurityPolicy(images) }
  return new Response(String(body), {
    status,
    headers: { ...headers, ...policy, 'Content-Type': 'text/html; charset=utf-8', ...withCookie(audience) },
  })
}

/** Create the response with a page. */
export const pageAnswer = (view: PageView, audience: PageAudience): Response =>
  htmlAnswer(pageDocument(view, audience), view.status ?? 200, audience, view.images)

/** Place of the parts of a streamed page. */
export const partsMarker: Html = asMarkup('<!--parts-->')

/** Parts of a page in their order. `end` is called after the last part, and if the browser left. */
type PageParts = { readonly parts: AsyncGenerator<Html>; readonly end: () => void }

/**
 * Create a response that sends parts as they are ready. They are at the marker of the page, or alone if `view` is null.
 */
export const streamAnswer = (view: PageView | null, audience: PageAudience, { parts, end }: PageParts): Response => {
  const [before = '', after = ''] = view === null ? [] : String(pageDocument(view, audience)).split(String(partsMarker))
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(encoder.encode(before)),
    pull: async controller => {
      try {
        const next = await parts.next()
        controller.enqueue(encoder.encode(next.done === true ? after : String(next.value)))
        if (next.done !== true) return
        controller.close()
        end()
      } catch (error) {
        end()
        throw error
      }
    },
    cancel: async () => {
      end()
      await parts.return(undefined)
    },
  })
  return new Response(body, { headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' } })
}

/** Redirect to another page of the console. */
export const redirect = (to: string, audience: Pick<PageAudience, 'cookie'> = {}): Response =>
  new Response(null, { status: 303, headers: { ...headers, Location: to, ...withCookie(audience) } })

/**
 * Continue at another page of the console by a page that loads it. After a redirect from another site, the browser
 * would not send the session cookie.
 */
export const continueAnswer = (to: string, cookies: readonly string[]): Response => {
  const body = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in</title><meta http-equiv="refresh" content="0; url=${to}"></head>
<body><p><a href="${to}">Continue</a></p></body></html>`
  const answer = htmlAnswer(body, 200, {})
  for (const cookie of cookies) answer.headers.append('Set-Cookie', cookie)
  return answer
}

/** Create the response with a CSV file. Its name and a header say whether more rows exist. */
const csvAnswer = ({ id, csv, hasMore }: TableView): Response =>
  new Response(csv(), {
    headers: {
      ...headers,
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${id}${hasMore === true ? '-more-follows' : ''}.csv"`,
      ...(hasMore === null ? {} : { 'X-Has-More': String(hasMore) }),
    },
  })

/** Cookie of a new session; null ends the session; undefined keeps it. */
const newSession = (token: string | null | undefined, isHttps: boolean): Pick<PageAudience, 'cookie'> => {
  if (token === undefined) return {}
  const maxAgeSeconds = token === null ? 0 : sessionSeconds
  return { cookie: cookieFor('session', token ?? '', { isHttps, maxAgeSeconds }) }
}

/** Create the response for the result of a route. The parameter `csv` names a table of the page to download. */
export const answerResult = (result: PageResult, audience: PageAudience): Response => {
  if ('to' in result) return redirect(result.to, newSession(result.sessionToken, audience.isHttps === true))
  const table = result.tables?.find(({ id }) => id === audience.query?.get('csv'))
  if (table !== undefined) return csvAnswer(table)
  if (!('fragment' in result)) return pageAnswer(result, audience)
  const requests = result.showsRequests === true ? partRequests(audience.calls ?? []) : null
  return htmlAnswer(html`${result.fragment}${requests}`, 200, {})
}

/** Create the response with a file, which browsers may cache for an hour. */
export const fileAnswer = (body: string, mediaType: string): Response =>
  new Response(body, { headers: { ...headers, 'Content-Type': mediaType, 'Cache-Control': 'public, max-age=3600' } })
