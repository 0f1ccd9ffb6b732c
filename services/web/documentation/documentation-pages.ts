import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import type { NextTurn, Operation } from '../../contract/operation.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import type { StaticContent, StaticRoute } from '../../platform/http/binding.ts'
import { lazyRoute } from '../../platform/http/static-routes.ts'
import { brand, pageContent } from '../ui-kit/frame.ts'
import { asMarkup, type Html, html } from '../ui-kit/html.ts'
import { type RenderedPage, renderPage } from './markdown.ts'
import { queryWords, type SearchEntry, type SearchIndex, searchIndexOf } from './search-index.ts'

/** Folder of the pages, next to `services/`: independent of the working directory and the data folder. */
const docsFolder = join(import.meta.dirname, '../../../docs')

/** The page that lists all other pages, at `/docs`. */
const homePage = 'README.md'

const mediaTypes: Readonly<Record<string, string>> = { '.png': 'image/png', '.svg': 'image/svg+xml' }

/** Return the address of a file of `docs/`: `rules/costs.md` is at `/docs/rules/costs`, images keep their name. */
const addressOf = (file: string): string =>
  file === homePage ? '/docs' : `/docs/${file.endsWith('.md') ? file.slice(0, -'.md'.length) : file}`

type NavigationGroup = {
  readonly title: string
  readonly links: readonly { readonly address: string; readonly title: string }[]
}

/** Files of `docs/`, and the groups of pages for the navigation. */
type Library = {
  readonly pages: readonly string[]
  readonly images: readonly string[]
  readonly navigation: readonly NavigationGroup[]
}

const homeLink = /^\| \[([^\]]+)\]\(([^)#]+\.md)\)/

/** Read the groups of pages from the tables of the home page, in their order. */
const readNavigation = (): readonly NavigationGroup[] => {
  const groups: { title: string; links: { address: string; title: string }[] }[] = []
  for (const line of readFileSync(join(docsFolder, homePage), 'utf8').split('\n')) {
    if (line.startsWith('## ')) groups.push({ title: line.slice(3), links: [] })
    const [, title = '', file = ''] = homeLink.exec(line) ?? []
    if (file !== '' && !file.startsWith('..')) groups.at(-1)?.links.push({ address: addressOf(file), title })
  }
  return groups.filter(({ links }) => links.length > 0)
}

/** List the files of `docs/`, by path. */
const listFiles = (): Library => {
  const files = readdirSync(docsFolder, { recursive: true, encoding: 'utf8' })
    .map(file => file.replaceAll('\\', '/'))
    .toSorted()
  return {
    pages: files.filter(file => file.endsWith('.md')),
    images: files.filter(file => extname(file) in mediaTypes),
    navigation: readNavigation(),
  }
}

/** Render a file of `docs/`. Links to other files of the folder become addresses of the service. */
const readPage = (file: string, { pages, images }: Library): RenderedPage => {
  const served = new Set([...pages, ...images])
  return renderPage(readFileSync(join(docsFolder, file), 'utf8'), target => {
    const [path = '', fragment] = target.split('#')
    if (path === '') return target
    const linked = posix.join(posix.dirname(file), path)
    if (!served.has(linked)) return null
    return `${addressOf(linked)}${fragment === undefined ? '' : `#${fragment}`}`
  })
}

const navigationLink = (address: string, title: string, current: string): Html =>
  html`<li><a href="${address}"${address === current ? html` aria-current="page"` : null}>${title}</a></li>`

const searchForm = (query: string): Html => html`<form class="find" role="search" action="/docs/search">
<input id="search" name="q" type="search" placeholder="Search" aria-label="Search the documentation" value="${query}"
maxlength="200" autocomplete="off" spellcheck="false"><button>Search</button></form>`

type Shell = {
  readonly title: string
  readonly address: string
  readonly navigation: readonly NavigationGroup[]
  readonly query?: string
}

const documentationPage = ({ title, address, navigation, query = '' }: Shell, article: Html): StaticContent =>
  pageContent(
    `${title} – Wattledger`,
    html`<body class="reference">
<a class="skip" href="#content">Skip to content</a>
<header class="bar">${brand}<span class="place">Documentation</span>
<button id="menu" type="button" aria-expanded="false" aria-controls="side">Contents</button></header>
<div id="side">
${searchForm(query)}
<nav class="contents" aria-label="Contents">
<section><ul>${navigationLink('/docs', 'All pages', address)}${navigationLink('/docs/api', 'API reference', address)}</ul></section>
${navigation.map(
  group =>
    html`<section><h2>${group.title}</h2><ul>${group.links.map(link =>
      navigationLink(link.address, link.title, address),
    )}</ul></section>`,
)}
</nav>
</div>
<main id="content"><article class="page">${article}</article></main>
</body>`,
    'own',
  )

const pageRoute = (file: string, library: Library): StaticContent => {
  const { title, markup } = readPage(file, library)
  return documentationPage({ title, address: addressOf(file), navigation: library.navigation }, asMarkup(markup))
}

const entriesOfPage = (file: string, library: Library): readonly SearchEntry[] => {
  const { title, sections } = readPage(file, library)
  return sections.map(({ anchor, heading, text }) => ({
    address: anchor === '' ? addressOf(file) : `${addressOf(file)}#${anchor}`,
    page: title,
    heading,
    text,
  }))
}

const entriesOfReference = (operations: readonly Operation[]): readonly SearchEntry[] =>
  operations.flatMap(({ id, summary, description, routes }) => {
    const [route] = routes.current
    if (route === undefined) return []
    const text = `${route.method} ${route.path} ${description}`
    return [{ address: `/docs/api#${id}`, page: 'API reference', heading: summary, text }]
  })

const indexOf = async (
  library: Library,
  operations: readonly Operation[],
  nextTurn: NextTurn,
): Promise<SearchIndex> => {
  const entries = [...entriesOfReference(operations)]
  for (const file of library.pages) {
    entries.push(...entriesOfPage(file, library))
    await nextTurn()
  }
  return searchIndexOf(entries, nextTurn)
}

const snippetLength = 220

/** Return the part of a text around the first of the words, with these words marked. */
const snippetOf = (text: string, words: readonly string[]): Html => {
  const lowerText = text.toLowerCase()
  const positions = words.map(word => lowerText.indexOf(word)).filter(position => position >= 0)
  const start = Math.max(0, Math.min(...positions, text.length) - 60)
  const from = positions.length === 0 || start === 0 ? 0 : text.indexOf(' ', start) + 1
  const part = text.slice(from, from + snippetLength)
  const marked = part
    .split(/([\p{L}\p{N}_]+)/u)
    .map(piece => (words.some(word => piece.toLowerCase().startsWith(word)) ? html`<mark>${piece}</mark>` : piece))
  return html`${from > 0 ? '… ' : ''}${marked}${from + snippetLength < text.length ? ' …' : ''}`
}

const resultItem = ({ address, page, heading, text }: SearchEntry, words: readonly string[]): Html =>
  html`<li><a href="${address}"><strong>${heading}</strong>${page === heading ? null : html` <small>${page}</small>`}</a>
<p>${snippetOf(text, words)}</p></li>`

const searchResults = (index: SearchIndex, query: string): Html => {
  const found = index.find(query)
  const words = queryWords(query)
  const countText = found.length === 1 ? '1 result' : `${found.length} results`
  return html`<h1>Search</h1>
<p role="status">${words.length === 0 ? 'Enter one or more words.' : found.length === 0 ? 'No results. Try fewer or shorter words.' : countText}</p>
<ol class="results">${found.map(entry => resultItem(entry, words))}</ol>`
}

/** Serve the search at `/docs/search?q=…`. The index is created in time slices at the first search. */
const searchRoute = (library: Library, operations: readonly Operation[]): StaticRoute => {
  let index: Promise<SearchIndex> | undefined
  return {
    path: '/docs/search',
    read: async (_, parameters) => {
      index ??= indexOf(library, operations, startTurns())
      const query = (parameters.get('q') ?? '').slice(0, 200)
      return documentationPage(
        { title: 'Search', address: '/docs/search', navigation: library.navigation, query },
        searchResults(await index, query),
      )
    },
  }
}

const imageHeaders = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
}

const readImage = (file: string): StaticContent => ({
  status: 200,
  mediaType: mediaTypes[extname(file)] ?? '',
  headers: imageHeaders,
  body: new Uint8Array(readFileSync(join(docsFolder, file))),
})

/**
 * Create the routes of the documentation: the pages of the folder `docs/` and their images, with a full-text search.
 * The search includes the operations of the API reference.
 */
export const documentationPages = (operations: readonly Operation[]): readonly StaticRoute[] => {
  const library = listFiles()
  return [
    ...library.pages.map(file => lazyRoute(addressOf(file), () => pageRoute(file, library))),
    ...library.images.map(file => lazyRoute(addressOf(file), () => readImage(file))),
    searchRoute(library, operations),
  ]
}
