/** Where the files of the repository can be read that are no pages of the site. */
export const REPOSITORY = 'https://github.com/leasehold/leasehold';

export const fileInRepository = (path: string): string => `${REPOSITORY}/blob/main/${path}`;
