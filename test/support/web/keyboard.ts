import type { Page as Tab } from 'playwright-core'
import { expect } from 'vitest'

/** Maximum number of presses of a key on the way to an element. */
const maxPresses = 120

type Focus = { readonly name: string; readonly isVisible: boolean }

/** Name of the focused element, and whether the element or its label shows the focus. */
const focusOf = (tab: Tab): Promise<Focus> =>
  tab.evaluate(`(() => {
    const element = document.activeElement
    if (element === document.body) return { name: '', isVisible: false }
    const showsFocus = one => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one)
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
    }
    const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent
    const around = element.closest('label')
    return { name: label.trim(), isVisible: showsFocus(element) || (around !== null && showsFocus(around)) }
  })()`)

/**
 * Press Tab until the element with this name has the focus. Each element on the way must show its focus. Throws if no
 * such element is reached.
 */
export const tabTo = async (tab: Tab, name: string | RegExp): Promise<void> => {
  for (let presses = 0; presses < maxPresses; presses += 1) {
    await tab.keyboard.press('Tab')
    const focus = await focusOf(tab)
    if (focus.name !== '') expect(focus, `${focus.name} at ${tab.url()}`).toMatchObject({ isVisible: true })
    if (typeof name === 'string' ? focus.name === name : name.test(focus.name)) return
  }
  throw new Error(`Tab does not reach "${name}" at ${tab.url()}.`)
}

/** Return the name of the focused element. */
export const focusedName = async (tab: Tab): Promise<string> => (await focusOf(tab)).name
