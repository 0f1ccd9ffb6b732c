import { type ApiVersion, apiVersionDates, apiVersions } from '../../contract/api-version.ts'
import type { NextTurn, Operation } from '../../contract/operation.ts'
import type { StaticContent, StaticRoute } from '../../platform/http/binding.ts'
import { lazyRoute } from '../../platform/http/static-routes.ts'
import { brand, pageContent } from '../ui-kit/frame.ts'
import { type Html, html } from '../ui-kit/html.ts'
import { type Group, type Reference, referenceOf } from './document.ts'
import { type Chapter, guide } from './guide.ts'
import { landingPage } from './landing.ts'
import { operationSection } from './operation-section.ts'

const pathOf: Readonly<Record<ApiVersion, string>> = { current: '/docs/api', earlier: '/docs/api/earlier' }
/** Former address of the reference of the earlier API version. Browsers keep the fragment. */
const formerEarlierPath = '/docs/earlier'

const labelOf: Readonly<Record<ApiVersion, string>> = { current: 'Current', earlier: 'Earlier' }

const apiVersionSwitch = (current: ApiVersion): Html =>
  html`<div class="layouts" role="group" aria-label="API version">${apiVersions.map(
    apiVersion =>
      html`<a href="${pathOf[apiVersion]}"${apiVersion === current ? html` aria-current="page"` : null}>
${labelOf[apiVersion]}<small>${apiVersionDates[apiVersion]}</small></a>`,
  )}</div>`

const navigationEntry = (id: string, searchText: string, content: Html): Html =>
  html`<li><a href="#${id}" data-words="${searchText.toLowerCase()}">${content}</a></li>`

const groupEntries = ({ name, operations }: Group): Html =>
  html`<section><h2>${name}</h2><ul>${operations.map(({ id, method, path, summary }) =>
    navigationEntry(
      id,
      `${name} ${summary} ${method} ${path} ${id}`,
      html`<span>${summary}</span>
<span class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</span>`,
    ),
  )}</ul></section>`

const sideNavigation = (
  reference: Reference,
  chapters: readonly Chapter[],
): Html => html`<aside id="side" aria-label="API version and contents">
${apiVersionSwitch(reference.apiVersion)}
<div class="search"><input id="filter" type="search" placeholder="Filter" aria-label="Filter operations"
autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></div>
<p id="found" role="status"></p>
<nav class="contents" aria-label="Contents">
<section><h2>Guide</h2><ul>${chapters.map(({ id, title }) =>
  navigationEntry(id, `guide ${title}`, html`<span>${id === 'overview' ? 'Overview' : title}</span>`),
)}</ul></section>
${reference.groups.map(groupEntries)}
</nav>
</aside>`

const chapterSection = ({ id, title, text, examples }: Chapter, index: number): Html => {
  const heading =
    index === 0
      ? html`<h1 id="${id}-title">${title}</h1>`
      : html`<h2 id="${id}-title"><a class="anchor" href="#${id}">${title}</a></h2>`
  return html`<section class="operation chapter" id="${id}" aria-labelledby="${id}-title">
<div class="text">${heading}${text}</div>
<div class="examples">${examples}</div>
</section>`
}

const groupSection = async (group: Group, reference: Reference, nextTurn: NextTurn): Promise<Html> => {
  const sections: Html[] = []
  for (const operation of group.operations) {
    sections.push(operationSection(operation, reference))
    await nextTurn()
  }
  return html`<header class="group"><h2>${group.name}</h2><p>${group.description}</p></header>
${sections}`
}

const render = async (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  nextTurn: NextTurn,
): Promise<StaticContent> => {
  const reference = await referenceOf(operations, apiVersion, nextTurn)
  const chapters = guide(reference)
  await nextTurn()
  const groups: Html[] = []
  for (const group of reference.groups) groups.push(await groupSection(group, reference, nextTurn))
  return pageContent(
    `Wattledger API ${reference.version}`,
    html`<body class="reference">
<a class="skip" href="#overview">Skip to content</a>
<header class="bar">${brand}<span class="place"><a href="/docs">Docs</a> / API</span>
<button id="menu" type="button" aria-expanded="false" aria-controls="side">Contents</button></header>
${sideNavigation(reference, chapters)}
<main>${chapters.map(chapterSection)}${groups}</main>
</body>`,
  )
}

/**
 * Create the routes of the start page (`/`) and of the API reference: `/docs/api` for the current API version,
 * `/docs/api/earlier` for the earlier one. The reference shows the OpenAPI documents.
 */
export const referencePages = (operations: readonly Operation[]): readonly StaticRoute[] => [
  lazyRoute('/', landingPage),
  ...apiVersions.map(apiVersion => lazyRoute(pathOf[apiVersion], nextTurn => render(operations, apiVersion, nextTurn))),
  {
    path: formerEarlierPath,
    read: async () => ({
      status: 308,
      mediaType: 'text/plain; charset=utf-8',
      headers: { Location: pathOf.earlier },
      body: '',
    }),
  },
]
