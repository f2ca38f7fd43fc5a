import { render } from 'preact';
import { installHook } from './hook';
import { startKeys } from './store/commands';
import { startLocation } from './store/location';
import { startTheme } from './store/theme';
import { App } from './views/App';
import './styles/base.css';
import './styles/layout.css';
import './styles/panels.css';

startTheme();
startKeys();
installHook();
render(<App />, document.getElementById('app')!);
startLocation();
