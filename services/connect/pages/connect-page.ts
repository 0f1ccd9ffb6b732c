import { readFileSync } from 'node:fs'
import { imageSources } from '../../contract/registry/account-brand.ts'
import { isId } from '../../domain/identifier.ts'
import type { Secret } from '../../platform/access/secrets.ts'
import { isFailure } from '../../platform/failure.ts'
import { countryCodes } from '../../platform/geocoding/country.ts'
import type { StaticContent, StaticRoute } from '../../platform/http/binding.ts'
import { secretHashes } from '../../platform/ids/new-id.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import { listLogos } from '../../platform/postgres/registry/providers.ts'
import { asMarkup, type Content, type Html, html } from '../../web/ui-kit/html.ts'
import { findSessionOwner } from '../postgres/connect-sessions.ts'
import { chooseLanguage, type Language, languageNames, languages, readTexts } from './languages.ts'

const readText = (lastSegment: string): string => readFileSync(new URL(lastSegment, import.meta.url), 'utf8')

const moduleFiles = [
  'start.js',
  'call.js',
  'element.js',
  'money.js',
  'chart.js',
  'areas.js',
  'dates.js',
  'texts.js',
  'errors.js',
  'address-pages.js',
  'standing-charge.js',
  'tariff-pages.js',
  'advanced-page.js',
  'summary-pages.js',
]

/** Allow own files, and images of the given hosts. Inline scripts, inline styles and frames are refused. */
const policyOf = (images: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    imageSources(images),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const headersOf = (images: readonly string[]) => ({
  'Content-Security-Policy': policyOf(images),
  'X-Content-Type-Options': 'nosniff',
  // The page address contains the token.
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
})

const headers = headersOf([])

const staticFile = (path: string, mediaType: string, read: () => string): StaticRoute => {
  let content: StaticContent | undefined
  return {
    path,
    read: async () => {
      content ??= { status: 200, mediaType: `${mediaType}; charset=utf-8`, headers, body: read() }
      return content
    },
  }
}

/** Read the addresses of the images of a session: logos of its account and of suppliers. */
type ReadLogoUrls = (token: string | null) => Promise<readonly string[]>

/** Create the route of the page. The policy of each response names the image hosts. */
const sessionPageRoute = (path: string, filesPath: string, readLogoUrls: ReadLogoUrls): StaticRoute => {
  const pages = new Map<string, string>()
  return {
    path,
    read: async (_, query, acceptLanguage = null) => {
      const language = chooseLanguage(query.get('lang'), acceptLanguage)
      const token = query.get('fp_cot')
      const name = `${language} ${token === null ? 'no link' : 'session'}`
      const body = pages.get(name) ?? String((token === null ? pageWithoutLink : sessionPage)(filesPath, language))
      pages.set(name, body)
      return {
        status: 200,
        mediaType: 'text/html; charset=utf-8',
        headers: {
          ...headersOf(await readLogoUrls(token)),
          'Content-Language': language,
          Vary: 'Accept-Language',
        },
        body,
      }
    },
  }
}

/** Links to the same page in the other languages. The script of a session adds its token to the links. */
const languageLinks = (language: Language): Html => html`<details id="languages">
<summary>${readTexts(language)['page.language']}: ${languages[language].name}</summary>
<ul>${languageNames.map(
  one => html`<li><a href="?lang=${one}" lang="${one}" hreflang="${one}">${languages[one].name}</a></li>`,
)}</ul></details>`

const documentOf = (filesPath: string, language: Language, title: Content, head: Content, body: Content): Html =>
  html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${filesPath}/connect.css">
${head}</head>
<body>
<div class="sheet">
${body}${languageLinks(language)}
</div>
</body>
</html>
`

/** Create the page for people who open the address without a token. */
const pageWithoutLink = (filesPath: string, language: Language): Html => {
  const texts = readTexts(language)
  const body = html`<main><h1>${texts['no_link.title']}</h1>
<p>${texts['no_link.text']}</p>
<p>${texts['no_link.help']}</p></main>
`
  return documentOf(filesPath, language, texts['no_link.title'], null, body)
}

/** Write a value as JSON that cannot end its script element. */
const dataElement = (id: string, value: unknown): Html =>
  html`<script type="application/json" id="${id}">${asMarkup(JSON.stringify(value).replaceAll('<', '\\u003c'))}</script>
`

/** Create the page of a session. The addresses of its files are relative, so that any mount path works. */
const sessionPage = (filesPath: string, language: Language): Html => {
  const texts = readTexts(language)
  const head = html`${dataElement('countries', countryCodes())}${dataElement('texts', {
    language,
    locale: languages[language].locale,
    texts,
  })}<script type="module" src="${filesPath}/start.js"></script>
`
  const body = html`<header class="bar"><button id="back" class="quiet" type="button" hidden>${texts['button.back']}</button>
<span class="test">${texts['page.test_mode']}</span><button id="close" class="quiet" type="button" hidden>${texts['button.close']}</button>
<p id="brand" hidden></p></header>
<p id="notice" role="status"></p>
<main><p>${texts['page.loading']}</p><noscript><p>${texts['page.needs_script']}</p></noscript></main>
<footer id="account" hidden></footer>
`
  return documentOf(filesPath, language, texts['page.title'], head, body)
}

/**
 * Create the routes of Connect: the page at a path, with and without trailing slash, and its files.
 * The page continues the session of its address (`fp_cot`) and calls the path from which it was loaded.
 */
export const connectPages = (path: string, readLogoUrls: ReadLogoUrls): readonly StaticRoute[] => {
  const lastSegment = path.slice(path.lastIndexOf('/') + 1)
  return [
    sessionPageRoute(path, `${lastSegment}/page`, readLogoUrls),
    sessionPageRoute(`${path}/`, 'page', readLogoUrls),
    ...moduleFiles.map(module => staticFile(`${path}/page/${module}`, 'text/javascript', () => readText(module))),
    staticFile(`${path}/page/connect.css`, 'text/css', () => `${readText('connect.css')}\n${readText('buttons.css')}`),
  ]
}

type LogoDependencies = {
  readonly database: Pick<Database, 'operator'>
  readonly secret: Secret
  readonly at: () => number
}

const logoCacheMs = 60_000

/** Return the logo addresses of suppliers, read at most once a minute. If PostgreSQL fails, return the last result. */
export const supplierLogos = (read: () => Promise<readonly string[]>, at: () => number) => {
  let logos: readonly string[] = []
  let readAt = Number.NEGATIVE_INFINITY
  return async (): Promise<readonly string[]> => {
    if (at() - readAt < logoCacheMs) return logos
    readAt = at()
    try {
      logos = await read()
    } catch (error) {
      if (!isFailure(error)) throw error
    }
    return logos
  }
}

/** Return the logo address of a session's account; null if it has none or PostgreSQL is unavailable. */
const accountLogo = async (
  { database, secret, at }: LogoDependencies,
  token: string | null,
): Promise<string | null> => {
  if (token === null || !isId('connectSession', token)) return null
  try {
    const owner = await findSessionOwner(database.operator, secretHashes(secret, token), at())
    return owner === null ? null : ((await retrieveAccount(database.operator, owner.tenant.accountId))?.logoUrl ?? null)
  } catch (error) {
    if (!isFailure(error)) throw error
    return null
  }
}

/** Return the image addresses of a session: the account's logo, then the logos of suppliers. */
export const logoUrls = (dependencies: LogoDependencies): ((token: string | null) => Promise<readonly string[]>) => {
  const readSupplierLogos = supplierLogos(() => listLogos(dependencies.database.operator), dependencies.at)
  return async token => {
    const [accountLogoUrl, supplierLogoUrls] = await Promise.all([
      accountLogo(dependencies, token),
      readSupplierLogos(),
    ])
    return accountLogoUrl === null ? supplierLogoUrls : [accountLogoUrl, ...supplierLogoUrls]
  }
}
