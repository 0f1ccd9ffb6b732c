/** Pages of a session. Both API versions have the same pages; they differ in names and in some members of data. */
export const connectPageNames = [
  'address',
  'provider',
  'provider_name',
  'login',
  'library',
  'structure',
  'fixed',
  'time_of_day',
  'advanced',
  'region',
  'surcharge',
  'name',
  'term',
  'pending',
  'failed',
  'summary',
  'end',
] as const
export type ConnectPageName = (typeof connectPageNames)[number]

export type ConnectApiVersion = 'current' | 'earlier'

/** Names of the summary that an account can choose in the current API version. */
export const summaryNames = ['tariffs_summary', 'tariff_summary'] as const
export type SummaryName = (typeof summaryNames)[number]

export const actions = [
  'BACK',
  'CLOSE',
  'ADDRESS_CHANGE',
  'PROVIDER_MISSING',
  'TARIFF_MISSING',
  'EDIT',
  'DISCONNECT',
  'WRONG_TARIFF_REPORT',
  'SAVE',
  'DISMISS_DIRECT',
  'RECONNECT',
] as const
export type ConnectAction = (typeof actions)[number]

type ActionsByVersion = Readonly<Record<ConnectApiVersion, readonly ConnectAction[]>>

const leaveActions = ['BACK', 'CLOSE'] as const
const changeActions = ['EDIT', 'DISCONNECT'] as const

const inBothVersions = (...actions: readonly ConnectAction[]): ActionsByVersion => ({
  current: actions,
  earlier: actions,
})

/** Pages with more buttons than BACK and CLOSE. Source: docs/rules/connect.md #pages. */
const pageActions: Partial<Readonly<Record<ConnectPageName, ActionsByVersion>>> = {
  provider: inBothVersions('ADDRESS_CHANGE', 'PROVIDER_MISSING', ...leaveActions),
  provider_name: inBothVersions('ADDRESS_CHANGE', ...leaveActions),
  library: inBothVersions('TARIFF_MISSING', 'ADDRESS_CHANGE', ...leaveActions),
  pending: { current: [...changeActions, ...leaveActions], earlier: ['SAVE', 'DISCONNECT', 'DISMISS_DIRECT'] },
  failed: { current: [...changeActions, ...leaveActions], earlier: ['RECONNECT', 'DISCONNECT'] },
  summary: {
    current: ['WRONG_TARIFF_REPORT', ...changeActions, 'CLOSE', 'BACK'],
    earlier: ['SAVE', ...changeActions],
  },
  end: inBothVersions(),
}

/** List the buttons of a page. */
export const actionsOf = (page: ConnectPageName, apiVersion: ConnectApiVersion): readonly ConnectAction[] =>
  pageActions[page]?.[apiVersion] ?? leaveActions

/** Check if a text is a button of some page. */
export const isAction = (word: string): word is ConnectAction => actions.some(action => action === word)

/** Return the index of a page in the fixed order in which programs without a screen post pages. */
export const pageOrder = (page: ConnectPageName): number => connectPageNames.indexOf(page)
