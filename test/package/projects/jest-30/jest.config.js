module.exports = {
  projects: [
    { displayName: 'ts-jest', preset: 'ts-jest', testMatch: ['**/*.test.ts'], testEnvironment: 'node' },
    { displayName: 'babel-jest', testMatch: ['**/*.test.js'], testEnvironment: 'node' },
  ],
};
