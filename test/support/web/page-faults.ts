import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page as Tab } from 'playwright-core'

const widths = [390, 1_280] as const
const colorSchemes = ['light', 'dark'] as const

/** Folder for screenshots of the pages, such as PAGE_SHOTS=/tmp/shots. Without it, none are saved. */
const shots = process.env['PAGE_SHOTS']

type Finding = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Elements of the first findings of a rule that a message names. */
const maxElements = 3

/** Options of axe. Only contrast depends on the colour scheme, so that dark pages are checked for contrast alone. */
const optionsOf = {
  light: { resultTypes: ['violations'] },
  dark: { resultTypes: ['violations'], runOnly: ['color-contrast'] },
} as const

const findingsOf = async (tab: Tab, colorScheme: keyof typeof optionsOf): Promise<readonly string[]> => {
  const result = (await tab.evaluate(
    `axe.run(document, ${JSON.stringify(optionsOf[colorScheme])}).then(({ violations }) => violations)`,
  )) as readonly Finding[]
  return result.flatMap(({ id, nodes }) =>
    nodes.slice(0, maxElements).map(({ target, failureSummary }) => `${id} at ${target.join(' ')}: ${failureSummary}`),
  )
}

/**
 * Check the page of a tab at 390 and 1,280 px, light and dark: axe finds nothing, and nothing scrolls horizontally.
 * Returns one line for each fault. Saves a screenshot of each look if PAGE_SHOTS is set.
 */
export const pageFaults = async (tab: Tab, name: string): Promise<readonly string[]> => {
  const faults: string[] = []
  const before = tab.viewportSize()
  await tab.evaluate(axe.source)
  for (const width of widths) {
    await tab.setViewportSize({ width, height: 900 })
    const extra = await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    if (extra !== 0) faults.push(`${name}, ${width} px: scrolls horizontally by ${extra} px`)
    for (const colorScheme of colorSchemes) {
      await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      for (const finding of await findingsOf(tab, colorScheme))
        faults.push(`${name}, ${width} px, ${colorScheme}: ${finding}`)
      if (shots !== undefined) {
        mkdirSync(shots, { recursive: true })
        const file = `${name.replaceAll(/[^\w]+/g, '-').slice(0, 80)}-${width}-${colorScheme}.png`
        await tab.screenshot({ path: join(shots, file), fullPage: true })
      }
    }
  }
  if (before !== null) await tab.setViewportSize(before)
  await tab.emulateMedia({ colorScheme: null })
  return faults
}
