type Platform = { readonly os: string; readonly cpu: string; readonly libc: string | undefined }
type Entry = { readonly version: string; readonly integrity?: string; readonly link?: boolean; readonly dev?: boolean }
type Lock<E extends Entry> = { readonly packages: Readonly<Record<string, E>> }

export declare const withoutHash: Readonly<Record<string, string>>
export declare const registryEntries: <E extends Entry>(lock: Lock<E>) => [string, E][]
export declare const nameOf: (path: string) => string
export declare const installedEntries: <E extends Entry>(lock: Lock<E>, platform: Platform) => [string, E][]
export declare const unverifiedOn: (lock: Lock<Entry>, platform: Platform) => string[]
export declare const thisPlatform: () => Platform
