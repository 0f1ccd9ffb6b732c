import { imageSources } from '../../contract/registry/account-pages.ts'
import { brand } from '../ui-kit/frame.ts'
import { asMarkup, type Content, type Html, html } from '../ui-kit/html.ts'
import type { ConsoleSession } from './session.ts'

/** A page of the console, before its frame; with `charts` it loads what draws them. `images`: addresses of pictures on other hosts. */
export type PageView = {
  readonly title: string
  readonly body: Html
  readonly status?: number
  readonly hasCharts?: boolean
  readonly images?: readonly (string | null)[]
}

/** Scripts and styles come from this service alone, pictures also from the hosts that a page names; nothing stands inline. */
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

const navigationItems = [
  ['/console', 'Overview'],
  ['/console/locations', 'Locations'],
  ['/console/events', 'Events'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/keys', 'Keys'],
  ['/console/account', 'Account'],
] as const

const isCurrent = (place: string, path: string): boolean =>
  place === '/console' ? path === place : path === place || path.startsWith(`${place}/`)

const navigation = (path: string): Html =>
  html`<nav class="places" aria-label="Console"><ul>${navigationItems.map(
    ([place, name]) =>
      html`<li><a href="${place}"${isCurrent(place, path) ? asMarkup(' aria-current="page"') : null}>${name}</a></li>`,
  )}</ul></nav>`

/** Say in which world a page is. */
export const modeBadge = ({ liveMode }: Pick<ConsoleSession, 'liveMode'>): Html =>
  liveMode ? html`<span class="mode live">Live mode</span>` : html`<span class="mode test">Test mode</span>`

/** A form that changes something: it carries the token of its visitor, and a name of its own, so that sending it twice does it once. */
export const form = (csrf: string, action: string, content: Content, className = 'form'): Html =>
  html`<form class="${className}" method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="form" value="${crypto.randomUUID()}">${content}</form>`

export const signOutPath = '/console/sign-out'

const signOutForm = (csrf: string): Html =>
  form(csrf, signOutPath, html`<button class="quiet" type="submit">Sign out</button>`, 'inline')

const headerOf = (session: ConsoleSession, csrf: string): Html =>
  html`<header class="bar">${brand}<span class="place">Console</span>${modeBadge(session)}<span class="account">${session.accountId}</span>${signOutForm(csrf)}</header>`

/** Put a view into a whole page; for nobody signed in, without places. */
export const pageDocument = (view: PageView, path: string, csrf: string, session: ConsoleSession | null): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${view.title} · Wattledger console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/console/assets/icon.svg">
<link rel="stylesheet" href="/console/assets/page.css">
${view.hasCharts === true ? html`<link rel="stylesheet" href="/console/assets/uplot.css"><script src="/console/assets/uplot.js" defer></script>` : null}
<script src="/console/assets/page.js" defer></script>
</head>
<body class="console">
<a class="skip" href="#content">Skip to the contents</a>
${session === null ? html`<header class="bar">${brand}<span class="place">Console</span></header>` : headerOf(session, csrf)}
<div class="${session === null ? 'alone' : 'with-places'}">${session === null ? null : navigation(path)}<main id="content" tabindex="-1">${view.body}</main></div>
</body>
</html>
`.markup
