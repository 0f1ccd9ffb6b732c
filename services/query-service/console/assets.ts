import { readFileSync } from 'node:fs'
import { icon } from './icon.ts'

/** Where the files are. */
export const assetPath = '/console/assets/'

type Asset = { readonly body: string; readonly mediaType: string }

const css = 'text/css; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'

const fileOf = (address: string): string => readFileSync(new URL(address), 'utf8')
const ours = (name: string): string => fileOf(new URL(name, import.meta.url).href)
const charts = (name: string): string => fileOf(new URL(name, import.meta.resolve('uplot')).href)

const makers: Readonly<Record<string, () => Asset>> = {
  'page.css': () => ({ body: ['../reference/base.css', 'page.css', 'forms.css', 'tables.css'].map(ours).join('\n'), mediaType: css }),
  'page.js': () => ({ body: ours('page.js'), mediaType: javascript }),
  'uplot.css': () => ({ body: charts('uPlot.min.css'), mediaType: css }),
  'uplot.js': () => ({ body: charts('uPlot.iife.min.js'), mediaType: javascript }),
  'icon.svg': () => ({ body: icon, mediaType: 'image/svg+xml' }),
}

const made = new Map<string, Asset>()

/** Find a file that pages of the console load; null where there is none. Each is read once. */
export const assetOf = (name: string): Asset | null => {
  const known = made.get(name) ?? (Object.hasOwn(makers, name) ? makers[name]?.() : undefined)
  if (known === undefined) return null
  made.set(name, known)
  return known
}
