import type { Browser, Page } from 'playwright-core'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'

/** Person at a browser who opens the console once and then only clicks and types. */
export type ConsolePerson = AsyncDisposable & {
  readonly tab: Page
  /** Type a text into the search of the header and press Enter. */
  readonly find: (text: string) => Promise<void>
  /** Click the only link with this name in the page, without the navigation. */
  readonly follow: (name: string | RegExp) => Promise<void>
  /** Click a link of the navigation. */
  readonly goTo: (name: string) => Promise<void>
  /** Click a button of the page. */
  readonly press: (name: string) => Promise<void>
  /** Return the visible text of the page, with single spaces. */
  readonly read: () => Promise<string>
}

const singleSpaces = (text: string): string => text.replaceAll(/\s+/g, ' ')

const openTab = async (browser: Browser, address: string): Promise<Page> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
  const tab = await context.newPage()
  await tab.goto(address)
  return tab
}

const personAt = (tab: Page): ConsolePerson => {
  const main = tab.getByRole('main')
  return {
    tab,
    find: async text => {
      await tab.getByRole('searchbox').fill(text)
      await tab.getByRole('searchbox').press('Enter')
      await tab.getByRole('heading', { level: 1, name: /Results for|Record|Event|Location|Session/ }).waitFor()
    },
    follow: name => main.getByRole('link', { name, exact: typeof name === 'string' }).click(),
    goTo: name => tab.getByRole('navigation', { name: 'Console' }).getByRole('link', { name, exact: true }).click(),
    press: name => main.getByRole('button', { name, exact: true }).click(),
    read: async () => singleSpaces(await main.innerText()),
    [Symbol.asyncDispose]: () => tab.context().close(),
  }
}

/** Open the console in a new context of the browser, and sign in with a key. */
export const openPerson = async (browser: Browser, sandbox: Sandbox, key: string): Promise<ConsolePerson> => {
  const tab = await openTab(browser, `${sandbox.base_url}/console`)
  await tab.getByLabel('Account ID').fill(sandbox.account_id)
  await tab.getByLabel('API key').fill(key)
  await tab.getByRole('button', { name: 'Sign in with key' }).click()
  await tab.waitForURL('**/console')
  return personAt(tab)
}

/** Open the link of an invitation in a new context of the browser, and choose a password. */
export const acceptInvitation = async (browser: Browser, sandbox: Sandbox, link: string): Promise<ConsolePerson> => {
  const tab = await openTab(browser, new URL(link, sandbox.base_url).href)
  await tab.getByLabel('New password', { exact: true }).fill('correct horse battery')
  await tab.getByLabel('Repeat the new password').fill('correct horse battery')
  await tab.getByRole('button', { name: 'Accept invitation' }).click()
  await tab.waitForURL('**/console')
  return personAt(tab)
}
